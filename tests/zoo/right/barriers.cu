// out 192*193/2
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float tile[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  float sum = 0.f;
  for (int first = 0; first < 192; first += 64) {
    __syncthreads();
    tile[threadIdx.x] = in[first + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 64; ++k) sum += tile[k];
  }
  if (i < n) out[i] = sum;
}
