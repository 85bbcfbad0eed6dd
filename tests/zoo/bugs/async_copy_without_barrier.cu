extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float tile[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  unsigned where = (unsigned)__cvta_generic_to_shared(tile + t);
  tile[t] = 0.f;
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(where), "l"(in + t) : "memory");  // BUG race
  asm volatile("cp.async.wait_all;" ::: "memory");
  if (i < n) out[i] = tile[63 - t];  // OTHER
}
