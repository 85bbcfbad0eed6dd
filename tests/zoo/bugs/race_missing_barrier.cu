extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float tile[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0.f;  // OTHER
  float x = tile[63 - threadIdx.x];  // BUG race
  if (i < n) out[i] = x;
}
