struct Top { float value; int index; };
__device__ Top pick(Top a, Top b) { return a.value > b.value ? a : b; }
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ Top best[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  Top mine;
  mine.value = i < n ? in[i] : 0.f;
  best[t] = mine;
  __syncthreads();
  Top winner = pick(best[t], best[63 - t]);
  if (i < n) out[i] = in[winner.index & 31];  // BUG uninitialized
}
