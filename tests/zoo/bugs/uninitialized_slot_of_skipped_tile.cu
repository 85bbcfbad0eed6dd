extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float best[4];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  for (int tile = 1; tile < 4; ++tile)
    if (t == 0) best[tile] = in[tile];
  __syncthreads();
  float m = fmaxf(best[0], best[1]);  // BUG uninitialized
  if (i < n) out[i] = m;
}
