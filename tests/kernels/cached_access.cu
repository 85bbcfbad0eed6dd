// Loads and stores with cache hints.
extern "C" __global__ void cached_access(const float* __restrict__ a, const float4* b, float* out, float4* out4) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  out[t] = __ldg(a + t) + __ldcg(a + t) + __ldca(a + t) + __ldcs(a + t) + __ldlu(a + t) + __ldcv(a + t);
  float4 v = __ldg(b + t);
  __stcs(out4 + t, v);
  __stwt(out + t + gridDim.x * blockDim.x, v.x);
  __stcg(out + t + 2 * gridDim.x * blockDim.x, v.y);
}
