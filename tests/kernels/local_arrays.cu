// Arrays in local memory with indices known only at run time; pointers to locals.
__device__ void sort_small(int* values, int n) {
  for (int i = 1; i < n; ++i)
    for (int j = i; j > 0 && values[j - 1] > values[j]; --j) {
      int swap = values[j];
      values[j] = values[j - 1];
      values[j - 1] = swap;
    }
}

extern "C" __global__ void sort_eight(const int* in, int* out) {
  int values[8], t = threadIdx.x;
  for (int i = 0; i < 8; ++i) values[i] = in[t * 8 + i];
  sort_small(values, 8);
  for (int i = 0; i < 8; ++i) out[t * 8 + i] = values[i];
}

extern "C" __global__ void local_mixed(const int* index, double* out) {
  double d[3][2] = {{1, 2}, {3, 4}, {5, 6}};
  char c[5] = {1, -2, 3, -4, 5};
  long long l[2] = {1ll << 40, -1};
  short s[4] = {100, -200, 300, -400};
  int i = index[threadIdx.x];
  double* p = &d[i % 3][0];
  p[i & 1] *= 10.0;
  out[threadIdx.x] = d[i % 3][i & 1] + c[i % 5] + (double)l[i & 1] + s[i & 3];
}
