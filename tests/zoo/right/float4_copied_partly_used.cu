// out x + 3
__device__ float three(float4 v) { return v.x + v.y + v.z; }
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float4 v;
  v.x = i < n ? in[i] : 0.f; v.y = 1.f; v.z = 2.f;
  float4 w = v;
  if (i < n) out[i] = three(w);
}
