// A deep tree of calls, the same function called from many places, with results through references and locals.
__device__ __noinline__ int leaf(int value, int* trace) {
  int scratch[2] = {value, value * 3};
  trace[value & 3] += scratch[value & 1];
  return scratch[0] ^ scratch[1];
}
__device__ __noinline__ int middle(int value, int* trace) {
  int result = leaf(value, trace);
  if (value > 4) result += leaf(value - 1, trace);
  return result * leaf(value + 1, trace);
}
__device__ __noinline__ int top(int value, int* trace) {
  for (int i = 0; i < 3; ++i) {
    if (value % 7 == i) return middle(value + i, trace);
    value += middle(i, trace);
  }
  return value;
}

extern "C" __global__ void many_calls(const int* in, int* out) {
  int trace[4] = {0, 0, 0, 0};
  int value = top(in[threadIdx.x], trace) + middle(threadIdx.x, trace);
  out[threadIdx.x * 5] = value;
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 5 + 1 + i] = trace[i];
}
