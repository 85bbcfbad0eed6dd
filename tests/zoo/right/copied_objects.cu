// out 2 * x + 9
struct Nothing {};
struct Padded {
  char first;
  double second;
};
struct Fields {
  unsigned low : 7, high : 9;
};

__device__ float apply(Nothing, Padded p, Fields f, float x) { return x * p.first + (float)p.second + f.low - f.high; }

template <typename F>
__device__ float twice(F f, float x) {
  return f(f(x));
}

extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  Nothing nothing;
  Padded padded;
  padded.first = 2;
  padded.second = 3.0;
  Padded other = padded;
  Fields fields = {};
  fields.low = 5;
  fields.high = 1;
  if (i < n) out[i] = twice([](float x) { return x + 1.f; }, apply(nothing, other, fields, in[i]));
}
