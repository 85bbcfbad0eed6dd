// out np.where(i % 32 < 20, 20.0, 0.0)
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  unsigned int count = 0;
  if (t % 32 < 20) count = __reduce_add_sync(0x000fffffu, 1u);
  if (i < n) out[i] = count;
}
