// problem: standard-attention
// Three launches: both products with 8 x 8 results a thread, and a softmax that reads and writes each score once.
//
// Added over tiled.cu:
// - A thread has 8 x 8 results of either product instead of 4 x 4: a step of 4 dimensions (keys) is 16 loads of 16 bytes for
//   256 multiply-adds, and as half a warp gets 128 bytes at once, shared memory is busy half of the multiply-adds' time. With
//   4 x 4 and loads of 4 bytes it is busy twice as long as they are.
// - The next step is on its way (cp.async, and registers for the weights) while this one is multiplied: one barrier a step.
// - Of 128 x D results at D = 64, 8 x 8 leave 128 threads; two groups of 128 share the keys and add up in the end.
// - The softmax holds a row in the registers of a CTA: one pass reads it, one writes it. Rows of scores are padded to whole
//   tiles that hold -INFINITY where no key is, so that neither it nor the second product has an edge.
// Predicted: 75% of the multiply-adds in the products, 360 us at D = 64, N = 4096, and 750 at D = 128, N = 2048; 130 us more for
// the softmax, which moves 537 MB; the products' own traffic hides behind their multiply-adds: 35 and 39 TFLOP/s. Causal 24:
// the second product has one CTA an SM and takes as long as its longest row.
// Measured: H200, N = 4096, D = 64: 616 us, 27.9 TFLOP/s; causal 439 us, 19.6; N = 2048, D = 128: 1094 us, 31.4.
// @workspace float scores[BH * static_cast<long long>(N) * pitch(N)]
// @launch multiply<<<dim3(cdiv(N, kTile), cdiv(N, kTile), BH), kThreads, kBytesOfProduct>>>(Q, K, scores, N, D, scale, causal)
// @launch softmax<<<dim3(N, BH), kThreads>>>(scores, N, causal)
// @launch weigh<D><<<dim3(cdiv(N, kTile), BH), kThreads, Shape<D>::kBytes>>>(scores, V, O, N, causal)
#include "common.cuh"

constexpr int kTile = 128;     // queries and keys of a tile of scores
constexpr int kThreads = 256;
constexpr int kStep = 32;      // dimensions, or keys of a group, in shared memory at a time; two steps have room
constexpr int kBytesOfProduct = 2 * 2 * kTile * kStep * sizeof(float);
constexpr int kHeld = 4;       // loads of 16 bytes that hold a row of the softmax; longer rows are read twice
constexpr float kLog2e = 1.4426950408889634f;
constexpr unsigned kAll = 0xffffffffu;

// Floats of a row of scores, so that tiles are whole. Keys past N get the score -INFINITY.
__host__ __device__ constexpr int pitch(int N) { return (N + kTile - 1) / kTile * kTile; }

// The second product: 128 x D results in tiles of 8 x 8 keep 2 D threads busy, so that 128 / D groups of threads share the
// keys among themselves.
template <int D>
struct Shape {
  static constexpr int kX = D / 8, kGroups = 128 / D, kOfGroup = kThreads / kGroups;
  static constexpr int kKeys = kStep * kGroups;                // a step
  static constexpr int kFloats = kKeys * (kTile + D);          // weights, then V
  static constexpr int kBytes = 2 * kFloats * sizeof(float);
  static constexpr int kCtasPerSm = D > 64 ? 2 : 1;
};

__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Four floats at an address that 16 divides.
__device__ __forceinline__ float4& quad(float* at) { return *reinterpret_cast<float4*>(at); }
__device__ __forceinline__ const float4& quad(const float* at) { return *reinterpret_cast<const float4*>(at); }

// Asks for 16 bytes, zeros where they are not used.
__device__ __forceinline__ void copy_16(const float* to, const float* from, bool used) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(used ? 16 : 0)
               : "memory");
}

__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

// A CTA computes 128 x 128 scores, thread (y, x) those of the queries 8 y .. 8 y + 7 and of the keys
// 4 x .. 4 x + 3 and 64 + 4 x .. . Columns of 16 bytes are exchanged (XOR), so that half a warp, which needs 8 keys and 2
// queries, gets them at once. A warp past the last query has nothing to multiply.
__global__ void __launch_bounds__(kThreads, 2)
multiply(const float* __restrict__ Q, const float* __restrict__ K, float* __restrict__ scores, int N, int D,
         float scale, bool causal) {
  extern __shared__ __align__(16) float tiles[];
  if (causal && blockIdx.x > blockIdx.y) return;  // nobody reads a tile above the diagonal
  const size_t head = static_cast<size_t>(blockIdx.z) * N;
  const int first_query = blockIdx.y * kTile, first_key = blockIdx.x * kTile;
  const int lane = threadIdx.x % 32, x = lane / 2, y = threadIdx.x / 32 * 2 + lane % 2;
  const bool any = first_query + threadIdx.x / 32 * 16 < N;

  auto ask = [&](int step) {
    float* q_tile = tiles + step % 2 * (2 * kTile * kStep);
    float* k_tile = q_tile + kTile * kStep;
    const int column = threadIdx.x % 8;
#pragma unroll
    for (int i = 0; i < kTile / 32; ++i) {
      const int row = threadIdx.x / 8 + 32 * i;
      const int query = first_query + row, key = first_key + row, d = step * kStep + 4 * column;
      copy_16(q_tile + row * kStep + 4 * (column ^ row / 8 % 8), Q + (head + min(query, N - 1)) * D + d, query < N);
      copy_16(k_tile + row * kStep + 4 * (column ^ row / 4 % 8), K + (head + min(key, N - 1)) * D + d, key < N);
    }
    commit_copies();
  };

  float s[8][8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) s[i][j] = 0.f;
  ask(0);
#pragma unroll 1
  for (int step = 0; step < D / kStep; ++step) {
    wait_for_copies();
    __syncthreads();  // the step is there; the one before is done with
    if (step + 1 < D / kStep) ask(step + 1);
    const float* q_tile = tiles + step % 2 * (2 * kTile * kStep);
    const float* k_tile = q_tile + kTile * kStep;
    if (!any) continue;
#pragma unroll 1
    for (int d = 0; d < kStep / 4; ++d) {
      float4 k[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) k[j] = quad(k_tile + (4 * x + j % 4 + j / 4 * 64) * kStep + 4 * (d ^ x % 8));
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float4 q = quad(q_tile + (8 * y + i) * kStep + 4 * (d ^ y % 8));
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          s[i][j] = fmaf(q.x, k[j].x, s[i][j]);
          s[i][j] = fmaf(q.y, k[j].y, s[i][j]);
          s[i][j] = fmaf(q.z, k[j].z, s[i][j]);
          s[i][j] = fmaf(q.w, k[j].w, s[i][j]);
        }
      }
    }
  }

  if (!any) return;
  const bool masked = first_key + kTile > N || (causal && blockIdx.x == blockIdx.y);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int query = first_query + 8 * y + i;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int key = first_key + 4 * x + j % 4 + j / 4 * 64;
      s[i][j] *= scale;
      if (masked && (key >= N || (causal && key > query))) s[i][j] = -INFINITY;
    }
    if (query < N) {
      float* to = scores + (head + query) * pitch(N) + first_key + 4 * x;
      quad(to) = make_float4(s[i][0], s[i][1], s[i][2], s[i][3]);
      quad(to + 64) = make_float4(s[i][4], s[i][5], s[i][6], s[i][7]);
    }
  }
}

__device__ __forceinline__ float max_of_cta(float x, float* shared) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(kAll, x, step));
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  x = shared[0];
#pragma unroll
  for (int warp = 1; warp < kThreads / 32; ++warp) x = fmaxf(x, shared[warp]);
  return x;
}

__device__ __forceinline__ float sum_of_cta(float x, float* shared) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(kAll, x, step);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  x = shared[0];
#pragma unroll
  for (int warp = 1; warp < kThreads / 32; ++warp) x += shared[warp];
  return x;
}

// A CTA turns a row of scores into weights, in place. Powers of 2 of one fmaf: what they are measured against is rounded, and
// divides out.
__global__ void __launch_bounds__(kThreads) softmax(float* scores, int N, bool causal) {
  __shared__ float maxima[kThreads / 32], sums[kThreads / 32];
  const int query = blockIdx.x, columns = causal ? (query / kTile + 1) * kTile : pitch(N);
  float* row = scores + (static_cast<size_t>(blockIdx.y) * N + query) * pitch(N) + 4 * threadIdx.x;
  const int mine = columns - 4 * static_cast<int>(threadIdx.x);  // columns from this thread's first on
  constexpr int kApart = 4 * kThreads, kAtOnce = kHeld * kApart;
  float4 s[kHeld];
  float top = -INFINITY;
  for (int first = 0; first < columns; first += kAtOnce) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      s[i] = make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
      if (first + i * kApart < mine) s[i] = quad(row + first + i * kApart);
    }
#pragma unroll
    for (int i = 0; i < kHeld; ++i) top = fmaxf(top, fmaxf(fmaxf(s[i].x, s[i].y), fmaxf(s[i].z, s[i].w)));
  }
  top = max_of_cta(top, maxima) * kLog2e;  // no -INFINITY: every query sees key 0

  const bool held = columns <= kAtOnce;
  float sum = 0.f;
  for (int first = 0; first < columns; first += kAtOnce) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      if (!held) {
        s[i] = make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
        if (first + i * kApart < mine) s[i] = quad(row + first + i * kApart);
      }
      s[i] = make_float4(exp2_fast(fmaf(s[i].x, kLog2e, -top)), exp2_fast(fmaf(s[i].y, kLog2e, -top)),
                         exp2_fast(fmaf(s[i].z, kLog2e, -top)), exp2_fast(fmaf(s[i].w, kLog2e, -top)));
      sum += s[i].x + s[i].y + (s[i].z + s[i].w);
      if (!held && first + i * kApart < mine) quad(row + first + i * kApart) = s[i];
    }
  }
  const float inverse = 1.f / sum_of_cta(sum, sums);
  for (int first = 0; first < columns; first += kAtOnce) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      if (first + i * kApart >= mine) break;
      if (!held) s[i] = quad(row + first + i * kApart);
      quad(row + first + i * kApart) =
          make_float4(s[i].x * inverse, s[i].y * inverse, s[i].z * inverse, s[i].w * inverse);
    }
  }
}

// A CTA computes 128 rows of O. Weights lie turned in shared memory, [key][query], so that a thread reads 4 of its queries at
// once; groups of 4 queries are exchanged by the key (XOR), so that a warp, which stores 4 keys of 8 lanes of 4 rows, meets
// no bank twice. Thread (y, x) of a group has the queries 8 y .. 8 y + 7 and the columns 4 x .. 4 x + 3 and
// D / 2 + 4 x .. .
template <int D>
__global__ void __launch_bounds__(kThreads, Shape<D>::kCtasPerSm)
weigh(const float* __restrict__ scores, const float* __restrict__ V, float* __restrict__ O, int N, bool causal) {
  constexpr int kX = Shape<D>::kX, kGroups = Shape<D>::kGroups, kOfGroup = Shape<D>::kOfGroup;
  constexpr int kKeys = Shape<D>::kKeys, kInWarp = 32 / kX;
  extern __shared__ __align__(16) float tiles[];
  const size_t head = static_cast<size_t>(blockIdx.y) * N;
  // With the mask, the longest rows begin first.
  const int tile = causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x, first_query = tile * kTile;
  const int end = causal ? min(N, first_query + kTile) : N;
  const int lane = threadIdx.x % 32, group = threadIdx.x / kOfGroup, in_group = threadIdx.x % kOfGroup;
  const int x = lane / 2 % kX, y = in_group / 32 * kInWarp + lane % 2 + lane / (2 * kX) * 2;
  const bool any = first_query + in_group / 32 * (8 * kInWarp) < N;

  // Of the weights a thread loads those of the rows row + 32 i, 4 of every 32 keys.
  const int row = threadIdx.x / 8, column = threadIdx.x % 8;
  const float* of_row = scores + (head + first_query + row) * pitch(N) + 4 * column;
  float4 raw[kGroups][4];
  auto load = [&](int first) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        raw[g][i] = make_float4(0.f, 0.f, 0.f, 0.f);
        if (first_query + row + 32 * i < N) {
          raw[g][i] = __ldcs(&reinterpret_cast<const float4&>(of_row[static_cast<size_t>(32 * i) * pitch(N) + first +
                                                                     kStep * g]));
        }
      }
    }
  };
  auto ask = [&](int first, int turn) {
    float* v_tile = tiles + turn * Shape<D>::kFloats + kKeys * kTile;
#pragma unroll
    for (int i = 0; i < kKeys * D / 4 / kThreads; ++i) {
      const int at = threadIdx.x + i * kThreads, key = first + at / (D / 4);
      copy_16(v_tile + 4 * at, V + (head + min(key, N - 1)) * D + at % (D / 4) * 4, key < N);
    }
    commit_copies();
  };

  auto store = [&](int turn) {
    float* w_tile = tiles + turn * Shape<D>::kFloats;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float w[4] = {raw[g][i].x, raw[g][i].y, raw[g][i].z, raw[g][i].w};
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          w_tile[(kStep * g + 4 * column + e) * kTile + ((row + 32 * i) ^ 4 * column)] = w[e];
        }
      }
    }
  };

  float o[8][8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int c = 0; c < 8; ++c) o[i][c] = 0.f;
  int turn = 1;
#pragma unroll 1
  for (int first = -kKeys; first < end; first += kKeys) {  // the first turn has nothing to multiply yet
    wait_for_copies();
    __syncthreads();  // V and the weights of the step are there; those of the one before are done with
    const bool more = first + kKeys < end;
    if (more) {
      ask(first + kKeys, turn ^ 1);
      load(first + kKeys);
    }
    const float* w_tile = tiles + turn * Shape<D>::kFloats + group * kStep * kTile;
    const float* v_tile = tiles + turn * Shape<D>::kFloats + kKeys * kTile + group * kStep * D;
#pragma unroll 1
    for (int k = first < 0 || !any ? kStep : 0; k < kStep; k += 4) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float* of_key = w_tile + (k + e) * kTile;
        __align__(16) float w[8], v[8];
        quad(w) = quad(of_key + (8 * y ^ k));
        quad(w + 4) = quad(of_key + (8 * y + 4 ^ k));
        quad(v) = quad(v_tile + (k + e) * D + 4 * x);
        quad(v + 4) = quad(v_tile + (k + e) * D + D / 2 + 4 * x);
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
          for (int c = 0; c < 8; ++c) o[i][c] = fmaf(w[i], v[c], o[i][c]);
      }
    }
    turn ^= 1;
    if (more) store(turn);
  }

  if (kGroups > 1) {
    __syncthreads();  // the tiles are done with
    if (group > 0) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        float* to = tiles + (((group - 1) * 16 + 2 * i) * kOfGroup + in_group) * 4;
        quad(to) = make_float4(o[i][0], o[i][1], o[i][2], o[i][3]);
        quad(to + 4 * kOfGroup) = make_float4(o[i][4], o[i][5], o[i][6], o[i][7]);
      }
    }
    __syncthreads();
    if (group > 0) return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int in_tile = 8 * y + i;
    if (first_query + in_tile >= N) continue;
#pragma unroll
    for (int other = 1; other < kGroups; ++other) {
      const float* from = tiles + (((other - 1) * 16 + 2 * i) * kOfGroup + in_group) * 4;
#pragma unroll
      for (int c = 0; c < 8; ++c) o[i][c] += from[c / 4 * (4 * kOfGroup) + c % 4];
    }
    float* to = O + (head + first_query + in_tile) * D + 4 * x;
    quad(to) = make_float4(o[i][0], o[i][1], o[i][2], o[i][3]);
    quad(to + D / 2) = make_float4(o[i][4], o[i][5], o[i][6], o[i][7]);
  }
}
