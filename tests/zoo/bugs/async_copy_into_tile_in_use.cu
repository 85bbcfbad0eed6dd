extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float tile[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  unsigned where = (unsigned)__cvta_generic_to_shared(tile + t);
  float sum = 0.f;
  for (int k = 0; k < 2; ++k) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(where), "l"(in + 64 * k + t) : "memory");  // BUG race
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int j = 0; j < 64; ++j) sum += tile[j];  // OTHER
  }
  if (i < n) out[i] = sum;
}
