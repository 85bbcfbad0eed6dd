extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ unsigned int word[16];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  ((unsigned char*)word)[t] = t;  // OTHER
  unsigned int x = word[t / 4];  // BUG race
  if (i < n) out[i] = x;
}
