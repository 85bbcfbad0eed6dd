extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[32];
  __shared__ int count;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);
  float x = 0.f;
  if (t < 32) {
    s[t] = in[t];
    __threadfence_block();
  } else {
    x = s[t - 32];  // BUG race
  }
  if (i < n) out[i] = x;
}
