// launch <<<1, 32>>> n=32
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ __align__(16) unsigned rows[32 * 4];
  int t = threadIdx.x;
  unsigned d;
  for (int k = 0; k < 4; ++k) rows[32 * k + t] = 32 * k + t;  // OTHER
  unsigned where = (unsigned)__cvta_generic_to_shared(rows + 4 * (t % 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(d) : "r"(where));  // BUG race?
  out[t] = (float)d;
}
