// Library functions, whose code is large: range reduction in local memory, tables, double precision.
extern "C" __global__ void libm_float(const float* in, float* out) {
  int t = threadIdx.x;
  float x = in[t];
  float* row = out + t * 16;
  row[0] = expf(x);
  row[1] = logf(fabsf(x));
  row[2] = sinf(x);
  row[3] = cosf(x);
  row[4] = tanf(x);
  row[5] = tanhf(x);
  row[6] = powf(fabsf(x), 0.3f);
  row[7] = erff(x);
  row[8] = expm1f(x);
  row[9] = log1pf(fabsf(x));
  row[10] = atan2f(x, 2.0f);
  row[11] = asinf(x * 0.001f);
  row[12] = cbrtf(x);
  row[13] = log2f(fabsf(x)) + log10f(fabsf(x));
  int exponent;
  row[14] = frexpf(x, &exponent);
  row[15] = ldexpf(x, exponent);
}

extern "C" __global__ void libm_double(const double* in, double* out) {
  int t = threadIdx.x;
  double x = in[t], s, c;
  sincos(x, &s, &c);
  double* row = out + t * 6;
  row[0] = exp(x);
  row[1] = log(fabs(x));
  row[2] = s;
  row[3] = c;
  row[4] = pow(fabs(x), 0.5);
  row[5] = tanh(x);
}
