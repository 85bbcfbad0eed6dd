// out x
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ volatile bool found;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) found = false;
  __syncthreads();
  for (int k = 0; k < 8 && !found; ++k)
    if (in[(t + k) % 64] == 60.f) found = true;
  if (i < n) out[i] = in[i];
}
