"""A small problem and a whole program as a book prints one, for the tests of reading."""

from judge.problem import Buffer, Case, Group, Parameter, Problem, Role, Tolerance

PROBLEM = Problem(
    id="example",
    title="Example",
    summary="",
    buffers=(
        Buffer("x", "f32", ("N", "D"), Role.INPUT),
        Buffer("rows", "i32", ("N",), Role.INPUT),
        Buffer("out", "f32", ("N",), Role.OUTPUT),
    ),
    parameters=(
        Parameter("N", "int"),
        Parameter("scale", "float"),
        Parameter("causal", "bool"),
        Parameter("D", "int", constant=True),
        Parameter("PAGE", "int", constant=True),
    ),
    cases=(Case("one", Group.SAMPLE, {"N": 4, "scale": 0.5, "causal": True, "D": 64, "PAGE": 16}),),
    generate=lambda case, generator: {},
    reference=lambda case, inputs: {},
    naive=lambda case, inputs: {},
    minimum_bytes=lambda case, inputs: 0,
    minimum_flops=lambda case, inputs: 0,
    tolerances={"out": Tolerance(1e-6, 0.0, "example")},
    mutants=(),
    default_launch="row_norm<D><<<(N + 127) / 128, 128>>>(x, out, N, scale)",
)

CONSTANTS = (("D", 64), ("PAGE", 16))

KERNEL = """\
template <int D>
__global__ void row_norm(const float* __restrict__ x, float* __restrict__ out, int N, float scale) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= N) return;
  float sum = 0.f;
  for (int d = 0; d < D; ++d) sum += x[row * D + d] * x[row * D + d];
  out[row] = sqrtf(sum) * scale;
}
"""

WHOLE_PROGRAM = """\
// row_norm.cu - the length of every row
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
#include <random>
#include "common.cuh"

#define DEVICE_INLINE __device__ __forceinline__
constexpr int kThreads = 128;
static std::mt19937 generator(7);
int failures = 0;

struct Stopwatch {
  cudaEvent_t begin, end;
  float stop() { float ms; cudaEventElapsedTime(&ms, begin, end); return ms; }
};

void norm_cpu(const std::vector<float>& x, std::vector<float>& out, int n, int d);

DEVICE_INLINE float square(float v) { return v * v; }

template <int D>
__global__ void __launch_bounds__(kThreads) row_norm(const float* x, float* out, int N, float scale) {
  const int row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= N) return;
  float sum = 0.f;
#pragma unroll
  for (int d = 0; d < D; ++d) sum += square(x[static_cast<size_t>(row) * D + d]);
  out[row] = sqrtf(sum) * scale;
}

void norm_cpu(const std::vector<float>& x, std::vector<float>& out, int n, int d) {
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    for (int k = 0; k < d; ++k) sum += double(x[i * d + k]) * x[i * d + k];
    out[i] = static_cast<float>(std::sqrt(sum));
  }
}

template <typename F>
float time_ms(F launch) {
  launch();
  cudaDeviceSynchronize();
  return 0.f;
}

int main() {
  constexpr int D = 64;
  const int n = 1000;
  std::vector<float> x(n * D), want(n), got(n);
  float *dx, *dout;
  CUDA_CHECK(cudaMalloc(&dx, x.size() * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&dout, n * sizeof(float)));
  dim3 grid((n + kThreads - 1) / kThreads);
  auto launch = [&] { row_norm<D><<<grid, kThreads>>>(dx, dout, n, 1.f); };
  float ms = time_ms(launch);
  std::printf("%.3f ms\\n", ms);
  norm_cpu(x, want, n, D);
  return failures;
}
"""
