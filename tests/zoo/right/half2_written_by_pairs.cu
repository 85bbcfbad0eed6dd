// out np.array([4.0 * (k % 64 // 2) + 1 for k in i])
#include <cuda_fp16.h>
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ __half2 s[32];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t < 32) s[t] = __floats2half2_rn(2 * t, 2 * t + 1);
  __syncthreads();
  __half2 pair = s[t / 2];
  if (i < n) out[i] = __low2float(pair) + __high2float(pair);
}
