extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  auto store = [&](float x) { s[t] = x; };  // OTHER
  auto load = [&](int k) { return s[k]; };  // BUG race
  store(in[t]);
  float x = load(63 - t);
  if (i < n) out[i] = x;
}
