extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float4 v;
  v.x = in[0]; v.y = in[1]; v.z = in[2];
  float sum = v.x + v.y + v.z + v.w;  // BUG uninitialized
  if (i < n) out[i] = sum;
}
