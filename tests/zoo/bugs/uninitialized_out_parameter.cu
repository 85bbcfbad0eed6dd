__device__ bool find(const float* row, float wanted, int* place) {
  for (int k = 0; k < 8; ++k)
    if (row[k] == wanted) { *place = k; return true; }
  return false;
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x, place;
  find(in, threadIdx.x + 1.f, &place);
  if (i < n) out[i] = place;  // BUG uninitialized
}
