// out np.where(64*b + 63 - i%64 < n, 64*b + 64 - i%64, 0)
// launch <<<4, 128>>> n=250
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float tile[64];
  if (threadIdx.x >= 64) return;
  int i = blockIdx.x * 64 + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0.f;
  __syncthreads();
  if (i < n) out[i] = tile[63 - threadIdx.x];
}
