// out 10.0
template <int K>
__device__ float sum_to(const float* row) {
  if constexpr (K == 0) return 0.f;
  else return row[K - 1] + sum_to<K - 1>(row);
}
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) out[i] = sum_to<4>(in);
}
