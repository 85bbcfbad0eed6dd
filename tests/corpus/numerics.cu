// Transforms, particles, fractals, random numbers and small dense systems.
#include <math_constants.h>

// Radix 2 in shared memory; the input is put in the order of reversed bits first.
extern "C" __global__ void fft_block(const float2* x, float2* out, float sign) {
  __shared__ float2 line[64];
  int t = threadIdx.x;
  for (int i = t; i < 64; i += 32) line[__brev(i) >> 26] = x[blockIdx.x * 64 + i];
  for (int half = 1; half < 64; half *= 2) {
    __syncthreads();
    int j = t % half, a = t / half * 2 * half + j, b = a + half;
    float s, c;
    sincospif(sign * j / half, &s, &c);
    float2 p = line[a], q = line[b];
    float2 turned = make_float2(q.x * c - q.y * s, q.x * s + q.y * c);
    line[a] = make_float2(p.x + turned.x, p.y + turned.y);
    line[b] = make_float2(p.x - turned.x, p.y - turned.y);
  }
  __syncthreads();
  for (int i = t; i < 64; i += 32) out[blockIdx.x * 64 + i] = line[i];
}

// Walsh and Hadamard inside a warp.
extern "C" __global__ void walsh_warp(float* x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    float other = __shfl_xor_sync(0xffffffff, v, d);
    v = threadIdx.x & d ? other - v : v + other;
  }
  x[i] = v * 0.17677669f;
}

// Bodies come by tiles of the block; softened gravity.
extern "C" __global__ void n_body(const float4* bodies, float3* pull, int n) {
  __shared__ float4 tile[32];
  int i = blockIdx.x * 32 + threadIdx.x;
  float4 own = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float3 sum = make_float3(0, 0, 0);
  for (int start = 0; start < n; start += 32) {
    tile[threadIdx.x] = start + threadIdx.x < n ? bodies[start + threadIdx.x] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < 32; ++k) {
      float4 b = tile[k];
      float3 d = make_float3(b.x - own.x, b.y - own.y, b.z - own.z);
      float inverse = rsqrtf(norm3df(d.x, d.y, d.z) * norm3df(d.x, d.y, d.z) + 0.01f);
      float scale = b.w * inverse * inverse * inverse;
      sum.x += d.x * scale, sum.y += d.y * scale, sum.z += d.z * scale;
    }
    __syncthreads();
  }
  if (i < n) pull[i] = sum;
}

extern "C" __global__ void mandelbrot(int* steps, int w, int h, double left, double top, double pixel, int limit) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c >= w || r >= h) return;
  double x0 = left + c * pixel, y0 = top - r * pixel, x = 0, y = 0;
  int n = 0;
  while (n < limit) {
    double xx = x * x, yy = y * y;
    if (xx + yy > 4.0) break;
    y = 2 * x * y + y0, x = xx - yy + x0, ++n;
  }
  steps[r * w + c] = n;
}

struct Generator {
  unsigned long long state;
  __device__ explicit Generator(unsigned seed) : state(seed * 6364136223846793005ull + 1442695040888963407ull) {}
  __device__ unsigned next() {
    unsigned long long old = state;
    state = old * 6364136223846793005ull + 1442695040888963407ull;
    unsigned mixed = (unsigned)((old >> 18 ^ old) >> 27);
    return __funnelshift_r(mixed, mixed, (unsigned)(old >> 59));
  }
  __device__ float uniform() { return (next() >> 8) * 0x1p-24f; }
};

// Points of a quarter circle; the count is exact, as the stream of each thread is.
extern "C" __global__ void monte_carlo_pi(unsigned* hits, int tries) {
  Generator random(blockIdx.x * blockDim.x + threadIdx.x);
  unsigned own = 0;
  for (int k = 0; k < tries; ++k) {
    float x = random.uniform(), y = random.uniform();
    own += __fadd_rn(__fmul_rn(x, x), __fmul_rn(y, y)) < 1.0f;
  }
  own = __reduce_add_sync(~0u, own);
  if (threadIdx.x % 32 == 0) atomicAdd(hits, own);
}

extern "C" __global__ void normals_box_muller(float2* out, float2 mean_deviation) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Generator random(i);
  float u = random.uniform() + 0x1p-25f, v = random.uniform(), s, c;
  __sincosf(2.0f * CUDART_PI_F * v, &s, &c);
  float r = sqrtf(-2.0f * __logf(u)) * mean_deviation.y;
  out[i] = make_float2(mean_deviation.x + r * c, mean_deviation.x + r * s);
}

// A matrix a warp, a row a lane and in registers; pivots are found by a vote of the lanes.
extern "C" __global__ void lu_solve_warp(const float* a, const float* b, float* x, float* determinant) {
  const int n = 8;
  int lane = threadIdx.x, m = blockIdx.x;
  float row[n + 1];
  for (int c = 0; c < n; ++c) row[c] = lane < n ? a[(m * n + lane) * n + c] : 0.0f;
  row[n] = lane < n ? b[m * n + lane] : 0.0f;
  float det = 1.0f;
  int rank = lane < n ? -1 : n;
#pragma unroll
  for (int k = 0; k < n; ++k) {
    float size = rank < 0 ? fabsf(row[k]) : -1.0f, best = size;
    for (int d = 16; d > 0; d /= 2) best = fmaxf(best, __shfl_xor_sync(~0u, best, d));
    int from = __ffs(__ballot_sync(~0u, size == best)) - 1;
    float pivot = __shfl_sync(~0u, row[k], from);
    det *= pivot;
    if (lane == from) rank = k;
    float factor = row[k] / pivot;
    for (int c = k; c <= n; ++c) {
      float above = __shfl_sync(~0u, row[c], from);
      row[c] = lane == from ? above / pivot : row[c] - factor * above;
    }
  }
  if (lane < n) x[m * n + rank] = row[n];
  int swaps = 0;
  for (int j = 1; j < n; ++j) {
    int other = __shfl_sync(~0u, rank, (lane + n - j) % n);
    swaps += lane < n && j <= lane && other > rank;
  }
  swaps = __reduce_add_sync(~0u, swaps);
  if (lane == 0) determinant[m] = swaps & 1 ? -det : det;
}

// In place, the lower triangle packed by rows; a thread a matrix.
extern "C" __global__ void cholesky_packed(double* a, int matrices, int n) {
  int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= matrices) return;
  a += m * (n * (n + 1) / 2);
  for (int r = 0; r < n; ++r)
    for (int c = 0; c <= r; ++c) {
      double *p = a + r * (r + 1) / 2, *q = a + c * (c + 1) / 2, sum = p[c];
      for (int k = 0; k < c; ++k) sum -= p[k] * q[k];
      p[c] = r == c ? sqrt(sum) : sum / q[c];
    }
}

// Tridiagonal systems by parallel cyclic reduction.
extern "C" __global__ void tridiagonal(const float4* rows, float* x, int n) {
  __shared__ float4 line[64];
  int t = threadIdx.x;
  float4 own = t < n ? rows[blockIdx.x * n + t] : make_float4(0, 1, 0, 0);
  for (int step = 1; step < n; step *= 2) {
    line[t] = own;
    __syncthreads();
    float4 low = t >= step ? line[t - step] : make_float4(0, 1, 0, 0);
    float4 high = t + step < 64 ? line[t + step] : make_float4(0, 1, 0, 0);
    float f = -own.x / low.y, g = -own.z / high.y;
    own = make_float4(f * low.x, own.y + f * low.z + g * high.x, g * high.z, own.w + f * low.w + g * high.w);
    __syncthreads();
  }
  if (t < n) x[blockIdx.x * n + t] = __fdiv_rn(own.w, own.y);
}

// A sum as an exact pair: every addition keeps what it rounds away.
extern "C" __global__ void sum_compensated(const float* x, float2* out, int n) {
  float sum = 0.0f, rest = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32) {
    float v = x[i], t = __fadd_rn(sum, v), back = __fsub_rn(t, sum);
    rest = __fadd_rn(rest, __fadd_rn(__fsub_rn(sum, __fsub_rn(t, back)), __fsub_rn(v, back)));
    sum = t;
  }
  for (int d = 16; d > 0; d /= 2) {
    float v = __shfl_down_sync(~0u, sum, d), r = __shfl_down_sync(~0u, rest, d);
    float t = __fadd_rn(sum, v), back = __fsub_rn(t, sum);
    rest = __fadd_rn(__fadd_rn(rest, r), __fadd_rn(__fsub_rn(sum, __fsub_rn(t, back)), __fsub_rn(v, back)));
    sum = t;
  }
  if (threadIdx.x == 0) *out = make_float2(sum, rest);
}

struct Complex {
  float re, im;
  __device__ Complex operator+(Complex o) const { return {re + o.re, im + o.im}; }
  __device__ Complex operator*(Complex o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
  __device__ Complex& operator+=(Complex o) { return *this = *this + o; }
};

// A polynomial by Horner, with operators of its own type.
extern "C" __global__ void horner_complex(const Complex* coefficients, const Complex* points, Complex* out, int degree, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Complex sum = {0.0f, 0.0f}, z = points[i];
  for (int k = degree; k >= 0; --k) sum = sum * z + coefficients[k];
  out[i] = sum;
}

// The mathematics library, function after function.
extern "C" __global__ void special_functions(const double* x, double* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  double v = x[i], *row = out + i * 16;
  row[0] = exp(v), row[1] = log1p(fabs(v)), row[2] = sin(v), row[3] = expm1(v);
  row[4] = tanh(v), row[5] = atan2(v, 2.0), row[6] = cbrt(v), row[7] = erfc(v);
  row[8] = rsqrt(fabs(v) + 1.0), row[9] = hypot(v, 3.0), row[10] = fmod(v, 0.7), row[11] = remainder(v, 0.7);
  row[12] = ldexp(v, 3), row[13] = rint(v), row[14] = floor(v), row[15] = __longlong_as_double(__double_as_longlong(v) ^ 1);
}

extern "C" __global__ void special_functions_float(const float* x, float* out, int n) {
  int i = threadIdx.x, whole;
  if (i >= n) return;
  float v = x[i], part, *row = out + i * 12;
  row[0] = exp2f(v), row[1] = log10f(fabsf(v)), row[2] = sinhf(v), row[3] = asinhf(v);
  row[4] = normcdff(v), row[5] = powf(fabsf(v), 1.5f), row[6] = roundf(v), row[7] = truncf(v);
  row[8] = frexpf(v, &whole), row[9] = whole, row[10] = modff(v, &part), row[11] = fdimf(v, 0.5f);
}
