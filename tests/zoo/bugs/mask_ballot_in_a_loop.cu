extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  unsigned int votes = 0;
  for (int k = 0; k < t % 4; ++k)
    votes += __ballot_sync(0xffffffffu, k == 1);  // BUG divergent_barrier
  if (i < n) out[i] = votes;
}
