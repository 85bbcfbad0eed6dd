// Copies through the built-in vector types: each thread moves one vector.
extern "C" __global__ void copy_float4(const float4* in, float4* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

extern "C" __global__ void scale_vectors(float2* f2, int4* i4, double2* d2, uchar4* c4, short2* s2, longlong2* l2, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  f2[i].x *= 2.0f, f2[i].y *= 3.0f;
  int4 v = i4[i];
  i4[i] = make_int4(v.w, v.z, v.y, v.x);
  d2[i] = make_double2(d2[i].y, d2[i].x);
  uchar4 c = c4[i];
  c4[i] = make_uchar4(c.x + 1, c.y + 2, c.z + 3, c.w + 4);
  s2[i] = make_short2(-s2[i].x, s2[i].y);
  l2[i].x += l2[i].y;
}

extern "C" __global__ void sum_float3(const float3* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i].x + in[i].y * 2.0f + in[i].z * 3.0f;
}

extern "C" __global__ void dot_float4(const float* a, const float* b, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 x = reinterpret_cast<const float4*>(a)[i], y = *(const float4*)(b + 4 * i);
  out[i] = x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}
