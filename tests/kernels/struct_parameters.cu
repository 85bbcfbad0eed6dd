// Structs passed to a kernel by value: mixed sizes, arrays, nesting, pointers inside.
struct Pair { float a; int b; };
struct Mixed { char tag; double value; short counts[3]; Pair pair; bool flag; const float* data; };
struct Shape { int extent[4]; };
struct Empty {};

extern "C" __global__ void read_struct(Mixed mixed, Shape shape, Empty, unsigned char last, float* out) {
  int i = threadIdx.x;
  out[0] = mixed.tag;
  out[1] = (float)mixed.value;
  out[2] = mixed.counts[0] + mixed.counts[1] * 10 + mixed.counts[2] * 100;
  out[3] = mixed.pair.a;
  out[4] = mixed.pair.b;
  out[5] = mixed.flag ? 1.0f : 0.0f;
  out[6] = mixed.data[i];
  out[7] = shape.extent[(i + last) & 3];
  out[8] = last;
}

extern "C" __global__ void narrow_parameters(bool flag, char c, signed char sc, short s, unsigned short us, long long ll, float f, double d, double* out) {
  double values[8] = {flag ? 1.0 : 0.0, (double)c, (double)sc, (double)s, (double)us, (double)ll, f, d};
  for (int i = 0; i < 8; ++i) out[i] = values[i];
}
