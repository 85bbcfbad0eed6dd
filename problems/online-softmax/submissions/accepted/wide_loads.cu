// problem: online-softmax
// A warp a row, B / 4 lanes a tile with 16 bytes each, and the loads of 1024 scores and values on their way at once.
//
// Added over warp_per_row.cu:
// - Tiles are independent but for the last step: each gets a maximum and two sums of its own, (m, l, o), and such triples
//   merge. A warp reduces its tiles side by side and then adds up along the row; no load waits for a maximum.
// - So a round is 8 loads of 16 bytes of scores and 8 of values a lane, all asked for before the first is used: 8 KB a warp,
//   where the loop over tiles had 128 bytes of either on their way.
// - Each score is read once; the weights come from registers. Traces are picked by lanes that store whole lines.
// - Differences to the maximum are taken before the factor log2(e): traces are measured against the exact maximum, so a
//   rounded one would not divide out.
// Tiles of another size than 4, 8, .. 128 take the way of warp_per_row.cu.
// Predicted: 20 warps an SM with 8 KB each on their way are five times what the latency asks for: 32768 x 1024 at 85 to 90%
// of the roof. 256 x 65536 has 256 warps on 132 SMs, 16 KB an SM and nothing on its way while a round is reduced: 30%.
// Measured: H200, 32768 x 1024: 69.2 us, 89.0% of the roof; 256 x 65536: 130 us, 22.9%.
// @launch wide_rows<<<cdiv(R, kWarps), 32 * kWarps>>>(scores, v, m_trace, l_trace, o_trace, out, R, T, B)
#include "common.cuh"

constexpr int kWarps = 4;
constexpr int kCtasPerSm = 5;
constexpr int kEach = 8;             // loads of scores, and of values, on their way in a lane
constexpr int kRound = 128 * kEach;  // scores a round
constexpr unsigned kAll = 0xffffffffu;

// What is known of some scores: their maximum, the sum of their weights against it, and the weighted sum of values.
struct Sums {
  float m, l, o;
};

// e^x for x <= 0.
__device__ __forceinline__ float weight(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.4426950408889634f));
  return y;
}

// What differences are taken to: nothing but -INFINITY was seen yet where m is -INFINITY, and no weight must be a NaN.
__device__ __forceinline__ float base_of(float m) { return m > -INFINITY ? m : 0.f; }

__device__ __forceinline__ Sums merged(Sums a, Sums b) {
  const float m = fmaxf(a.m, b.m), base = base_of(m);
  const float of_a = weight(a.m - base), of_b = weight(b.m - base);
  return {m, fmaf(a.l, of_a, b.l * of_b), fmaf(a.o, of_a, b.o * of_b)};
}

// Selects numbers, not places: an array that is chosen from would leave its registers for local memory.
__device__ __forceinline__ Sums either(bool first, Sums a, Sums b) {
  return {first ? a.m : b.m, first ? a.l : b.l, first ? a.o : b.o};
}

__device__ __forceinline__ Sums from_lane(Sums x, int lane) {
  return {__shfl_sync(kAll, x.m, lane), __shfl_sync(kAll, x.l, lane), __shfl_sync(kAll, x.o, lane)};
}

__device__ __forceinline__ Sums from_below(Sums x, int step) {
  return {__shfl_up_sync(kAll, x.m, step), __shfl_up_sync(kAll, x.l, step), __shfl_up_sync(kAll, x.o, step)};
}

// Four numbers of a row, or what changes nothing past its end.
__device__ __forceinline__ float4 quad(const float* row, int at, int n, float outside) {
  return at < n ? __ldcs(reinterpret_cast<const float4*>(row + at)) : make_float4(outside, outside, outside, outside);
}

// A row whose tiles are lanes * 4 scores long; lanes is a power of two.
__device__ __forceinline__ Sums whole_quads(const float* s_row, const float* x_row, float* m_row, float* l_row,
                                            float* o_row, int T, int lanes) {
  const int lane = threadIdx.x % 32, n = T * lanes * 4;
  const int place = lane % lanes, tiles = 32 / lanes;  // within the tile; tiles a load
  Sums carry = {-INFINITY, 0.f, 0.f};
  for (int first = 0; first < n; first += kRound) {
    float4 s[kEach], x[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      s[i] = quad(s_row, first + 128 * i + 4 * lane, n, -INFINITY);
      x[i] = quad(x_row, first + 128 * i + 4 * lane, n, 0.f);
    }
    Sums tile[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) tile[i].m = fmaxf(fmaxf(s[i].x, s[i].y), fmaxf(s[i].z, s[i].w));
    for (int step = lanes / 2; step > 0; step /= 2) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) tile[i].m = fmaxf(tile[i].m, __shfl_xor_sync(kAll, tile[i].m, step));
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const float base = base_of(tile[i].m);
      const float a = weight(s[i].x - base), b = weight(s[i].y - base);
      const float c = weight(s[i].z - base), d = weight(s[i].w - base);
      tile[i].l = a + b + (c + d);
      tile[i].o = fmaf(a, x[i].x, b * x[i].y) + fmaf(c, x[i].z, d * x[i].w);
    }
    for (int step = lanes / 2; step > 0; step /= 2) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        tile[i].l += __shfl_xor_sync(kAll, tile[i].l, step);
        tile[i].o += __shfl_xor_sync(kAll, tile[i].o, step);
      }
    }
    for (int step = lanes; step < 32; step *= 2) {  // along the tiles of a load
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const Sums before = from_below(tile[i], step);
        if (lane >= step) tile[i] = merged(before, tile[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const Sums load = from_lane(tile[i], 31);
      tile[i] = merged(carry, tile[i]);
      carry = merged(carry, load);
    }
    // All lanes of a tile know its sums: the i-th of them stores those of load i.
    for (int from = 0; from < kEach; from += lanes) {
      Sums mine = tile[0];
#pragma unroll
      for (int i = 1; i < kEach; ++i) mine = either(i == from + place, tile[i], mine);
      const int at = first / (4 * lanes) + (from + place) * tiles + lane / lanes;
      if (from + place < kEach && at < T) {
        m_row[at] = mine.m;
        l_row[at] = mine.l;
        o_row[at] = mine.o;
      }
    }
  }
  return carry;
}

// A row with tiles of any length, one after another.
__device__ __forceinline__ Sums any_tiles(const float* s_row, const float* x_row, float* m_row, float* l_row,
                                          float* o_row, int T, int B) {
  const int lane = threadIdx.x % 32;
  Sums carry = {-INFINITY, 0.f, 0.f};
  for (int t = 0; t < T; ++t) {
    const float* s = s_row + static_cast<size_t>(t) * B;
    const float* x = x_row + static_cast<size_t>(t) * B;
    Sums tile = {-INFINITY, 0.f, 0.f};
    for (int i = lane; i < B; i += 32) tile.m = fmaxf(tile.m, s[i]);
    for (int step = 16; step > 0; step /= 2) tile.m = fmaxf(tile.m, __shfl_xor_sync(kAll, tile.m, step));
    const float base = base_of(tile.m);
    for (int i = lane; i < B; i += 32) {
      const float w = weight(s[i] - base);
      tile.l += w;
      tile.o += w * x[i];
    }
    for (int step = 16; step > 0; step /= 2) {
      tile.l += __shfl_xor_sync(kAll, tile.l, step);
      tile.o += __shfl_xor_sync(kAll, tile.o, step);
    }
    carry = merged(carry, tile);
    if (lane == 0) {
      m_row[t] = carry.m;
      l_row[t] = carry.l;
      o_row[t] = carry.o;
    }
  }
  return carry;
}

__global__ void __launch_bounds__(32 * kWarps, kCtasPerSm)
wide_rows(const float* __restrict__ scores, const float* __restrict__ v, float* __restrict__ m_trace,
          float* __restrict__ l_trace, float* __restrict__ o_trace, float* __restrict__ out, int R, int T, int B) {
  const int row = blockIdx.x * kWarps + threadIdx.x / 32;
  if (row >= R) return;  // whole warps leave, so every shuffle has its 32 lanes
  const size_t keys = static_cast<size_t>(row) * T * B, tiles = static_cast<size_t>(row) * T;
  const bool quads = B % 4 == 0 && B <= 128 && (B & (B - 1)) == 0;
  const Sums all =
      quads ? whole_quads(scores + keys, v + keys, m_trace + tiles, l_trace + tiles, o_trace + tiles, T, B / 4)
            : any_tiles(scores + keys, v + keys, m_trace + tiles, l_trace + tiles, o_trace + tiles, T, B);
  if (threadIdx.x % 32 == 0) out[row] = all.l > 0.f ? all.o / all.l : 0.f;
}
