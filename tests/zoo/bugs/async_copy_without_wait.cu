// launch <<<4, 64>>> n=256
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ __align__(16) float tile[256];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  unsigned where = (unsigned)__cvta_generic_to_shared(tile + 4 * t);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(where), "l"(in + 4 * t) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  __syncthreads();
  if (i < n) out[i] = tile[255 - 4 * t];  // BUG uninitialized
}
