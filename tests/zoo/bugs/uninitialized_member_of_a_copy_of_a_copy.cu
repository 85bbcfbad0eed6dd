struct Top { float value; int index; };
__device__ Top keep(Top a) { Top b = a; return b; }
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ Top best[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  Top mine;
  mine.value = i < n ? in[i] : 0.f;
  best[t] = mine;
  __syncthreads();
  Top winner = keep(best[63 - t]);
  if (i < n) out[i] = in[winner.index & 31];  // BUG uninitialized
}
