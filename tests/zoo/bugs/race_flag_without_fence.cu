extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float box;
  __shared__ volatile int ready;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) ready = 0;
  __syncthreads();
  float x = 0.f;
  if (t == 0) {
    box = in[7];  // OTHER
    ready = 1;
  }
  if (t >= 32) {
    while (ready == 0) {}
    x = box;  // BUG race
  }
  if (i < n) out[i] = x;
}
