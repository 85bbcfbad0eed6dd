// out np.array([float(k % 64) for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  unsigned char* bytes = (unsigned char*)ws;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  bytes[i] = t;
  bytes[i] = bytes[i] + 0;
  if (i < n) out[i] = bytes[i];
}
