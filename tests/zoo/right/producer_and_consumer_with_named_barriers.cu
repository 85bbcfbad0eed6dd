// out np.array([x[k % 32] for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float box[32];
  int t = threadIdx.x, i = blockIdx.x * 64 + t, lane = t % 32;
  float x = in[lane];
  for (int k = 0; k < 3; ++k) {
    if (t < 32) {
      box[lane] = in[lane];
      asm volatile("bar.sync 1, 64;" ::: "memory");
      asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      x = box[lane];
      asm volatile("bar.sync 2, 64;" ::: "memory");
    }
  }
  if (i < n) out[i] = x;
}
