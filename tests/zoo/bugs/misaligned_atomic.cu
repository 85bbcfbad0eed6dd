extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) ws[i] = 0.f;
  __syncthreads();
  atomicAdd((int*)((char*)ws + 2), 1);  // BUG misaligned
  if (i < n) out[i] = 1.f;
}
