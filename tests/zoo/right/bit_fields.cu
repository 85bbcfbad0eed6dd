// out 8.0
struct Flags { unsigned int low : 4; unsigned int high : 4; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ Flags shared;
  Flags own;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) { shared.low = 3; shared.high = 2; }
  own.low = 1; own.high = 2;
  __syncthreads();
  if (i < n) out[i] = shared.low + shared.high + own.low + own.high;
}
