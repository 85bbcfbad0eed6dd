// problem: online-softmax
// A team, a warp or a CTA of 8, a row; scores and values stream through a ring in shared memory, on into the next row.
//
// Added over wide_loads.cu:
// - Rounds are copied with cp.async, kStages - 1 ahead of the one that is reduced. A lane copies and reads the same places,
//   so that it waits for its own copies alone: no barrier, and no register holds what is on its way.
// - 264 CTAs, as many as an H200 holds at once, take row after row. The next row's copies leave while this row ends.
// - Rows of 4096 scores and more get the 8 warps of a CTA: a warp reduces its 512 scores of a round, its triple (m, l, o) goes
//   to shared memory, and after one barrier each warp merges the triples before its own into its traces. 256 rows are one
//   row a CTA, 97% of what 132 SMs with two CTAs each would hold.
// Predicted: 16 warps an SM with 8 KB each on their way, whatever a round's reduction takes: 32768 x 1024 at 90% (a warp has 15
// or 16 rows, 3% of the time at the end is not full); 256 x 65536 at 80 to 85%: 30 us of bytes, begin and end 5 to 7 us.
// Measured: H200, 256 x 65536: 50.3 us, 59.2% of the roof; 32768 x 1024: 83.7 us, 73.9%, less than wide_loads.cu.
// @launch stream_rows<<<min(R, kCtas), 32 * kWarps, kWarps * kStages * kStage * sizeof(float4)>>>(scores, v, m_trace, l_trace, o_trace, out, R, T, B)
#include "common.cuh"

constexpr int kWarps = 8;
constexpr int kCtasPerSm = 2;
constexpr int kCtas = 132 * kCtasPerSm;  // that an H200 holds at once
constexpr int kEach = 4;                 // 16 bytes of scores, and of values, a lane and round
constexpr int kRound = 128 * kEach;      // scores a warp and round
constexpr int kStages = 3;               // rounds in the ring
constexpr int kStage = 64 * kEach;       // 16 bytes in a stage of a warp: scores, then values
constexpr int kLong = kRound * kWarps;   // scores of a row from which on a CTA has it
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

// Asks for 16 bytes, nowhere where they are not used.
__device__ __forceinline__ void copy_16(float4* to, const float* from, bool used) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(used ? 16 : 0)
               : "memory");
}

// Every rows_apart-th row from `row` on, of R rows whose tiles are lanes * 4 scores long; lanes is a power of two. team: the
// warps of a row, 1 or all of the CTA. member: which of them this one is.
__device__ __forceinline__ void whole_quads(const float* __restrict__ scores, const float* __restrict__ v,
                                            float* __restrict__ m_trace, float* __restrict__ l_trace,
                                            float* __restrict__ o_trace, float* __restrict__ out, float4* ring,
                                            Sums (*totals)[kWarps], int row, int rows_apart, int R, int T, int lanes,
                                            int team, int member) {
  const int lane = threadIdx.x % 32, n = T * lanes * 4;
  const int place = lane % lanes, tiles = 32 / lanes;  // within the tile; tiles a load
  const int begin = member * kRound, step_of_team = team * kRound;
  int asked_row = row, asked_first = begin, slot_in = 0, slot_out = 0;
  auto ask = [&]() {
    if (asked_row < R) {
      const size_t from = static_cast<size_t>(asked_row) * n;
      float4* to = ring + slot_in * kStage + lane;
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const int at = asked_first + 128 * i + 4 * lane;
        const bool used = at < n;
        copy_16(to + 32 * i, scores + from + (used ? at : 0), used);
        copy_16(to + 32 * (kEach + i), v + from + (used ? at : 0), used);
      }
      slot_in = slot_in + 1 == kStages ? 0 : slot_in + 1;
      asked_first += step_of_team;
      if (asked_first - begin >= n) {  // all of a team go on to the next row together
        asked_first = begin;
        asked_row += rows_apart;
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) ask();

  int turn = 0;
  for (; row < R; row += rows_apart) {
    float* m_row = m_trace + static_cast<size_t>(row) * T;
    float* l_row = l_trace + static_cast<size_t>(row) * T;
    float* o_row = o_trace + static_cast<size_t>(row) * T;
    Sums carry = {-INFINITY, 0.f, 0.f};
    for (int base_of_round = 0; base_of_round < n; base_of_round += step_of_team) {
      const int first = base_of_round + begin;
      ask();
      asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 1) : "memory");
      const float4* from = ring + slot_out * kStage + lane;
      slot_out = slot_out + 1 == kStages ? 0 : slot_out + 1;

      Sums tile[kEach];
      float4 s[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        s[i] = first + 128 * i + 4 * lane < n ? from[32 * i]
                                              : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
        tile[i].m = fmaxf(fmaxf(s[i].x, s[i].y), fmaxf(s[i].z, s[i].w));
      }
      for (int step = lanes / 2; step > 0; step /= 2) {
#pragma unroll
        for (int i = 0; i < kEach; ++i) tile[i].m = fmaxf(tile[i].m, __shfl_xor_sync(kAll, tile[i].m, step));
      }
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const float4 x = from[32 * (kEach + i)];  // zeros past the end
        const float base = base_of(tile[i].m);
        const float a = weight(s[i].x - base), b = weight(s[i].y - base);
        const float c = weight(s[i].z - base), d = weight(s[i].w - base);
        tile[i].l = a + b + (c + d);
        tile[i].o = fmaf(a, x.x, b * x.y) + fmaf(c, x.z, d * x.w);
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
      Sums load[kEach], before = carry;
#pragma unroll
      for (int i = 0; i < kEach; ++i) load[i] = from_lane(tile[i], 31);
      if (team > 1) {
        Sums total = load[0];
#pragma unroll
        for (int i = 1; i < kEach; ++i) total = merged(total, load[i]);
        if (lane == 0) totals[turn][member] = total;
        __syncthreads();
#pragma unroll
        for (int other = 0; other < kWarps; ++other) {
          before = either(other == member, carry, before);
          carry = merged(carry, totals[turn][other]);
        }
        turn ^= 1;  // the other place is free: who writes there has passed the barrier after its last readers
      }
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        tile[i] = merged(before, tile[i]);
        before = merged(before, load[i]);
      }
      if (team == 1) carry = before;
      // All lanes of a tile know its sums: the i-th of them stores those of load i.
      for (int some = 0; some < kEach; some += lanes) {
        Sums mine = tile[0];
#pragma unroll
        for (int i = 1; i < kEach; ++i) mine = either(i == some + place, tile[i], mine);
        const int at = first / (4 * lanes) + (some + place) * tiles + lane / lanes;
        if (some + place < kEach && at < T) {
          m_row[at] = mine.m;
          l_row[at] = mine.l;
          o_row[at] = mine.o;
        }
      }
    }
    if (member == 0 && lane == 0) out[row] = carry.l > 0.f ? carry.o / carry.l : 0.f;
  }
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
stream_rows(const float* __restrict__ scores, const float* __restrict__ v, float* __restrict__ m_trace,
            float* __restrict__ l_trace, float* __restrict__ o_trace, float* __restrict__ out, int R, int T, int B) {
  extern __shared__ __align__(16) float4 rings[];
  __shared__ Sums totals[2][kWarps];
  const int warp = threadIdx.x / 32;
  if (B % 4 == 0 && B <= 128 && (B & (B - 1)) == 0) {
    const bool whole_cta = T * B >= kLong;
    const int teams = whole_cta ? gridDim.x : gridDim.x * kWarps;
    const int row = whole_cta ? blockIdx.x : blockIdx.x + gridDim.x * warp;
    whole_quads(scores, v, m_trace, l_trace, o_trace, out, rings + warp * kStages * kStage, totals, row, teams, R, T,
                B / 4, whole_cta ? kWarps : 1, whole_cta ? warp : 0);
    return;
  }
  for (int row = blockIdx.x + gridDim.x * warp; row < R; row += gridDim.x * kWarps) {
    const size_t keys = static_cast<size_t>(row) * T * B, tiles = static_cast<size_t>(row) * T;
    const Sums all = any_tiles(scores + keys, v + keys, m_trace + tiles, l_trace + tiles, o_trace + tiles, T, B);
    if (threadIdx.x % 32 == 0) out[row] = all.l > 0.f ? all.o / all.l : 0.f;
  }
}
