// Classes, operators, lambdas, references and unions.
class Accumulator {
 public:
  __device__ explicit Accumulator(float start) : total(start), count(0) {}
  __device__ Accumulator& operator+=(float value) {
    total += value;
    ++count;
    return *this;
  }
  __device__ float mean() const { return count ? total / count : 0.0f; }

 private:
  float total;
  int count;
};

struct Complex {
  float re, im;
  __device__ Complex operator*(const Complex& other) const { return {re * other.re - im * other.im, re * other.im + im * other.re}; }
};

template <typename F>
__device__ float apply(F function, float value) {
  return function(function(value));
}

__device__ void minmax(float a, float b, float& low, float& high) {
  low = a < b ? a : b;
  high = a < b ? b : a;
}

union Bits {
  float f;
  unsigned u;
  unsigned char bytes[4];
};

extern "C" __global__ void classes(const float* in, float* out, int n) {
  int t = threadIdx.x;
  Accumulator sum(0.0f);
  for (int i = t; i < n; i += blockDim.x) sum += in[i];
  Complex z = {in[t], 1.0f};
  for (int i = 0; i < 3; ++i) z = z * z;
  float scale = in[0], low, high;
  minmax(in[t], in[t + 1], low, high);
  Bits bits;
  bits.f = in[t];
  bits.u ^= 0x80000000u;
  float* row = out + t * 6;
  row[0] = sum.mean();
  row[1] = z.re;
  row[2] = z.im;
  row[3] = apply([=](float x) { return x * scale + 1.0f; }, in[t]);
  row[4] = high - low;
  row[5] = bits.f + bits.bytes[3];
}
