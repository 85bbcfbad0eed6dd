extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int best;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) best = 0;
  __syncthreads();
  int x = i < n ? (int)in[i] : 0;
  if (x > best)            // OTHER
    atomicMax(&best, x);   // BUG race
  __syncthreads();
  if (i < n) out[i] = best;
}
