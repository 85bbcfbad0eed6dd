// Conversions between integers and floats, every rounding mode, saturation at the borders.
extern "C" __global__ void conversions(const float* in, const double* in64, int* i, float* f, double* d) {
  int t = threadIdx.x;
  float x = in[t];
  double y = in64[t];
  int* row = i + t * 16;
  row[0] = (int)x;
  row[1] = __float2int_rn(x);
  row[2] = __float2int_ru(x);
  row[3] = __float2int_rd(x);
  row[4] = (int)(unsigned)__float2uint_rz(x);
  row[5] = (int)__double2int_rn(y);
  row[6] = (int)(long long)x;
  row[7] = (int)__float2ull_rn(x);
  row[8] = (unsigned char)(int)x;
  row[9] = (signed char)(int)x;
  row[10] = (unsigned short)(int)x;
  row[11] = __float_as_int(x);
  row[12] = __double2hiint(y);
  row[13] = __double2loint(y);
  row[14] = x != 0.0f;
  row[15] = (bool)x;
  float* frow = f + t * 8;
  frow[0] = (float)y;
  frow[1] = __double2float_rz(y);
  frow[2] = (float)row[0];
  frow[3] = __int2float_rz(row[11]);
  frow[4] = (float)(unsigned)row[11];
  frow[5] = (float)((long long)row[11] << 20);
  frow[6] = floorf(x) + ceilf(x) * 2.0f;
  frow[7] = rintf(x) + truncf(x) * 2.0f + roundf(x) * 4.0f;
  d[2 * t] = x;
  d[2 * t + 1] = (double)((unsigned long long)row[11] << 31);
}
