// Arg-max of a row: value and index travel together as one 64-bit key; NaN-free input; ties to the smaller index.
extern "C" __global__ void argmax(const float* in, int* out, int columns) {
  unsigned long long best = 0;
  for (int c = threadIdx.x; c < columns; c += 32) {
    unsigned bits = __float_as_uint(in[blockIdx.x * columns + c]);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    unsigned long long key = (unsigned long long)bits << 32 | (0xffffffffu - c);
    if (key > best) best = key;
  }
  for (int d = 16; d; d /= 2) {
    unsigned long long other = __shfl_xor_sync(~0u, best, d);
    best = other > best ? other : best;
  }
  if (threadIdx.x == 0) out[blockIdx.x] = (int)(0xffffffffu - (unsigned)best);
}

extern "C" __global__ void count_above(const float* in, int* count, float threshold, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int total = __syncthreads_count(i < n && in[i] > threshold);
  if (threadIdx.x == 0) atomicAdd(count, total);
}
