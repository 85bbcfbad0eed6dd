union Scratch { float keys[64]; int counts[64]; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ Scratch scratch;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  scratch.keys[t] = in[t];
  __syncthreads();
  float sum = 0.f;
  for (int k = 0; k < 64; ++k) sum += scratch.keys[k];  // OTHER
  scratch.counts[t] = t;  // BUG race
  __syncthreads();
  if (i < n) out[i] = sum + scratch.counts[0];
}
