__device__ float block_first(float* s, float x, int t) {
  if (t == 0) *s = x;
  __syncthreads();  // BUG divergent_barrier
  return *s;
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float s;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float x = 0.f;
  if (t < 48) x = block_first(&s, in[t], t);
  __syncthreads();  // OTHER
  if (i < n) out[i] = x;
}
