// out np.array([x[k] + x[k ^ 8] if k % 32 < 16 and (k ^ 8) < n else (0.0 if k % 32 >= 16 else x[k]) for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t % 32 >= 16) {
    if (i < n) out[i] = 0.f;
    return;
  }
  float x = i < n ? in[i] : 0.f;
  x += __shfl_xor_sync(0xffffffffu, x, 8);
  if (i < n) out[i] = x;
}
