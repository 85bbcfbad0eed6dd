// out 8.0
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float box;
  __shared__ volatile int ready;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t == 0) {
    box = in[7];
    __threadfence_block();
    ready = 1;
  }
  float x = 8.f;
  if (t >= 32) {
    while (ready == 0) {}
    __threadfence_block();
    x = box;
  }
  if (i < n) out[i] = x;
}
