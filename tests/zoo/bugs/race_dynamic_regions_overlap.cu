// launch <<<4, 64>>> n=250 shared=512
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  extern __shared__ float pool[];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float* keys = pool;
  float* values = pool + 32;
  keys[t] = in[t];  // OTHER
  values[t] = -in[t];  // BUG race
  __syncthreads();
  if (i < n) out[i] = keys[t] + values[t];
}
