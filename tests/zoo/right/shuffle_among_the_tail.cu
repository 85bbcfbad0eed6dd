// out np.array([x[k + 1] if k + 1 < n and (k + 1) % 32 else x[k] for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  unsigned int mask = __ballot_sync(0xffffffffu, i < n);
  if (i < n) {
    float x = in[i];
    int lane = threadIdx.x % 32;
    int from = lane + 1 < __popc(mask) ? lane + 1 : lane;
    out[i] = __shfl_sync(mask, x, from);
  }
}
