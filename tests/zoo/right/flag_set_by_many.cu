// out 1.0
// warnings 1
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ int any;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) any = 0;
  __syncthreads();
  if (in[t] > 5.f) any = 1;
  __syncthreads();
  if (i < n) out[i] = any;
}
