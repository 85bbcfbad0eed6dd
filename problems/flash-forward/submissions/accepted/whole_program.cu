// problem: flash-forward
// A whole program, host code included, key by key: the judge sets main and the host helper aside.
// Measured: H200, 4096-64: 6472 us, 17.1% of the roof; 4096-64-causal: 4288 us, 12.9%; 8192-128: 138.1 ms, 6.4%;
// 8192-128-causal: 90.6 ms, 4.9%.
#include <cstdio>
#include <vector>
#include "common.cuh"

constexpr int kRows = 32;  // queries a block
constexpr int kKeys = 16;  // keys a tile

template <int D>
__global__ void flash_attn_fwd(const float* Q, const float* K, const float* V, float* O, int N, float scale,
                               bool causal) {
  __shared__ float k_tile[kKeys][D + 1], v_tile[kKeys][D + 1];
  const size_t head = static_cast<size_t>(blockIdx.y) * N * D;
  const float* k_head = K + head;
  const float* v_head = V + head;
  // The block may have more threads than a tile of queries has rows: it walks them in strides.
  for (int first_query = blockIdx.x * blockDim.x; first_query < N; first_query += gridDim.x * blockDim.x) {
    const int query = first_query + threadIdx.x;
    float q[D], o[D];
    for (int d = 0; d < D; ++d) {
      q[d] = query < N ? Q[head + static_cast<size_t>(query) * D + d] * scale : 0.f;
      o[d] = 0.f;
    }
    float m = -INFINITY, l = 0.f;
    const int key_end = causal ? min(N, static_cast<int>(first_query + blockDim.x)) : N;
    for (int first = 0; first < key_end; first += kKeys) {
      const int keys = min(kKeys, key_end - first);
      __syncthreads();
      for (int i = threadIdx.x; i < keys * D; i += blockDim.x) {
        k_tile[i / D][i % D] = k_head[static_cast<size_t>(first) * D + i];
        v_tile[i / D][i % D] = v_head[static_cast<size_t>(first) * D + i];
      }
      __syncthreads();
      for (int j = 0; j < keys; ++j) {
        if (causal && first + j > query) break;
        float s = 0.f;
        for (int d = 0; d < D; ++d) s += q[d] * k_tile[j][d];
        const float m_new = fmaxf(m, s);
        const float correction = __expf(m - m_new), w = __expf(s - m_new);
        l = l * correction + w;
        for (int d = 0; d < D; ++d) o[d] = o[d] * correction + w * v_tile[j][d];
        m = m_new;
      }
    }
    if (query < N)
      for (int d = 0; d < D; ++d) O[head + static_cast<size_t>(query) * D + d] = o[d] / l;
  }
}

static void fill(std::vector<float>& values, unsigned seed) {
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / (1 << 23) - 1.f;
  }
}

int main() {
  constexpr int D = 64;
  const int heads = 2, n = 100;
  std::vector<float> host(static_cast<size_t>(heads) * n * D);
  float* device[4];
  for (int i = 0; i < 4; ++i) {
    fill(host, i + 1);
    cudaMalloc(&device[i], host.size() * sizeof(float));
    cudaMemcpy(device[i], host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
  }
  flash_attn_fwd<D><<<dim3((n + kRows - 1) / kRows, heads), kRows>>>(device[0], device[1], device[2], device[3], n,
                                                                     0.125f, true);
  cudaMemcpy(host.data(), device[3], host.size() * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("O[0] = %f\n", host[0]);
  for (float* pointer : device) cudaFree(pointer);
  return 0;
}
