// The hardware's approximate functions.
extern "C" __global__ void fast_math(const float* in, float* out) {
  int t = threadIdx.x;
  float x = in[t];
  float* row = out + t * 12;
  row[0] = __expf(x);
  row[1] = __logf(fabsf(x));
  row[2] = __sinf(x);
  row[3] = __cosf(x);
  row[4] = __powf(fabsf(x), 1.5f);
  row[5] = __fdividef(1.0f, x);
  row[6] = rsqrtf(fabsf(x));
  row[7] = exp2f(x);
  row[8] = __log2f(fabsf(x));
  row[9] = __exp10f(x * 0.1f);
  row[10] = __tanf(x);
  row[11] = __frsqrt_rn(fabsf(x));
}
