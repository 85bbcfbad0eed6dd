// out np.array([(x[j] if j < n else 0) + 63 - k % 64 for k in i for j in [64 * (k // 64) + 63 - k % 64]])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s[64];
  int* counts = (int*)s;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = i < n ? in[i] : 0.f;
  __syncthreads();
  float x = s[63 - t];
  __syncthreads();
  counts[t] = t;
  __syncthreads();
  if (i < n) out[i] = x + counts[63 - t];
}
