extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float tile[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  tile[threadIdx.x] = in[i];  // BUG out_of_bounds
  __syncthreads();
  if (i < n) out[i] = tile[63 - threadIdx.x];
}
