// out 4.0
__device__ unsigned int tickets;
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ bool last;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (i < n) ws[i] = 1.f;
  __threadfence();
  __syncthreads();
  if (t == 0) last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  for (int k = t; k < n; k += 64) out[k] = ws[0] + ws[64] + ws[128] + ws[192];
}
