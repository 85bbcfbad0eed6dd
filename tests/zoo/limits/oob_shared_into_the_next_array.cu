extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float first[64];
  __shared__ float second[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  first[t] = in[t];
  second[t] = in[t];
  __syncthreads();
  float x = first[t + 1] + second[t];  // BUG out_of_bounds
  if (i < n) out[i] = x;
}
