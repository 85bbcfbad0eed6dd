// out 1.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  int any = __syncthreads_or(t == 40);
  int all = __syncthreads_and(t >= 0);
  int count = __syncthreads_count(t < 10);
  if (i < n) out[i] = any && all && count == 10 ? 1.f : 0.f;
}
