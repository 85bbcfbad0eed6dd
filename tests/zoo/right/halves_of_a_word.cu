// out np.array([(2 * x[j] if j < n else 0) + 2 * x[k] + 65 for k in i for j in [64 * (k // 64) + 63 - k % 64]])
#include <cuda_fp16.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ __half s[64];
  __shared__ unsigned char c[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = __float2half(i < n ? in[i] : 0.f);
  c[t] = static_cast<unsigned char>(t);
  s[t] = __hadd(s[t], s[t]);
  c[t] = c[t] + 1;
  __syncthreads();
  float x = __half2float(s[63 - t]) + c[63 - t];
  __syncthreads();
  s[t] = s[t];
  c[t] = c[t];
  if (i < n) out[i] = x + __half2float(s[t]) + c[t];
}
