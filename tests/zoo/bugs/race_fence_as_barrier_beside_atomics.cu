extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  __shared__ int count;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);
  s[t] = in[t];  // OTHER
  __threadfence_block();
  float x = s[t ^ 32];  // BUG race
  if (i < n) out[i] = x;
}
