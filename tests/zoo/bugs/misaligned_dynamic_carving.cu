// launch <<<4, 64>>> n=250 shared=512
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  extern __shared__ char pool[];
  char* tags = pool;
  float* values = (float*)(pool + 65);
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  tags[t] = 1;
  values[t] = in[t];  // BUG misaligned
  __syncthreads();
  if (i < n) out[i] = tags[t];
}
