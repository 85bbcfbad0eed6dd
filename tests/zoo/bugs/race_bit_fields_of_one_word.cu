struct Flags { unsigned int low : 4; unsigned int high : 4; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ Flags flags;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) { flags.low = 0; flags.high = 0; }
  __syncthreads();
  if (t == 0) flags.low = 3;  // OTHER
  if (t == 32) flags.high = 5;  // BUG race
  __syncthreads();
  if (i < n) out[i] = flags.low + flags.high;
}
