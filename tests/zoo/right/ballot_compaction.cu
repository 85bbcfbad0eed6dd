// out np.array([16.0 for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float kept[2][32];
  int t = threadIdx.x, i = blockIdx.x * 64 + t, w = t / 32, lane = t % 32;
  bool keep = t % 2 == 0;
  unsigned int votes = __ballot_sync(0xffffffffu, keep);
  if (keep) kept[w][__popc(votes & ((1u << lane) - 1))] = 1.f;
  __syncwarp();
  float sum = 0.f;
  for (int k = 0; k < __popc(votes); ++k) sum += kept[w][k];
  if (i < n) out[i] = sum;
}
