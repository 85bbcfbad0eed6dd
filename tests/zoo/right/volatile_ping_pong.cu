// out 6.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ volatile int full;
  __shared__ volatile float box;
  __shared__ float got;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) full = 0;
  __syncthreads();
  if (t == 0) {
    for (int k = 0; k < 3; ++k) {
      while (full) {}
      box = in[k];
      __threadfence_block();
      full = 1;
    }
  } else if (t == 32) {
    float sum = 0.f;
    for (int k = 0; k < 3; ++k) {
      while (!full) {}
      sum += box;
      __threadfence_block();
      full = 0;
    }
    got = sum;
  }
  __syncthreads();
  if (i < n) out[i] = got;
}
