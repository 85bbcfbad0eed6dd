// launch <<<4, 64>>> n=250 shared=512
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  extern __shared__ float pool[];
  float* keys = pool;
  float* values = pool + 64;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  keys[t] = in[t];
  values[t] = in[t];
  __syncthreads();
  float x = keys[t + 1];  // BUG out_of_bounds
  if (i < n) out[i] = x + values[t];
}
