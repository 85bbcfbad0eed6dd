// IEEE arithmetic in single and double precision with explicit rounding.
extern "C" __global__ void float_math(const float* a, const float* b, float* out) {
  int t = threadIdx.x;
  float x = a[t], y = b[t];
  float* row = out + t * 20;
  row[0] = x / y;
  row[1] = __fdiv_rz(x, y);
  row[2] = sqrtf(fabsf(x));
  row[3] = __fmaf_rn(x, y, 1.0f);
  row[4] = __fmaf_rz(x, y, 1.0f);
  row[5] = __fadd_ru(x, y);
  row[6] = __fmul_rd(x, y);
  row[7] = __frcp_rn(y);
  row[8] = fminf(x, y);
  row[9] = fmaxf(x, y);
  row[10] = copysignf(x, y);
  row[11] = fmodf(x, y);
  row[12] = -x;
  row[13] = __saturatef(x);
  row[14] = isnan(x) ? 1.0f : isinf(x) ? 2.0f : 0.0f;
  row[15] = signbit(x) ? 1.0f : 0.0f;
  row[16] = (x < y) + (x <= y) * 2 + (x == y) * 4 + (x != y) * 8;
  row[17] = !(x < y) + !(x >= y) * 2;
  row[18] = fdimf(x, y);
  row[19] = hypotf(x, y);
}

extern "C" __global__ void double_math(const double* a, const double* b, double* out) {
  int t = threadIdx.x;
  double x = a[t], y = b[t];
  double* row = out + t * 8;
  row[0] = x / y;
  row[1] = sqrt(fabs(x));
  row[2] = fma(x, y, 1.0);
  row[3] = fmin(x, y) + fmax(x, y);
  row[4] = floor(x) + ceil(y);
  row[5] = __dadd_ru(x, y);
  row[6] = rint(x);
  row[7] = 1.0 / y;
}
