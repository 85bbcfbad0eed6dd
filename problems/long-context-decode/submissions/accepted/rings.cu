// problem: long-context-decode
// Every warp streams an even share of all tokens through a ring in shared memory; a second launch merges.
//
// Added over last_block_merges.cu:
// - Steps of 8 tokens of all sequences stand in one row, and each warp takes an even share of it for one KV head, wherever
//   sequences begin and end. A sequence within one share goes to out at once.
// - Each warp copies rounds of tokens with cp.async, kStages - 1 rounds ahead of the one it works on, and waits for nobody
//   but itself: there is no barrier of the CTA in the loop.
// - K and V are marked to leave the L2 first, as __ldcs marks loads: nobody reads them again.
// - The second launch has a CTA a query head, whose lanes weigh 32 pieces at once.
// gqa-decode has the same first launch.
// Predicted: 64 KB in flight an SM at all times, where 4.4 TB/s at 0.8 us need 27 KB: 95% of the roof for 1 x 131072.
// Measured: H200, 1 x 131072: 249.3 us, 4308 GB/s, 93.7% of the roof; 4 x 65536: 481.1 us, 97.9% (last_block_merges.cu: 394.6 and
// 686.7 us); mixed: 431.1 us, 97.6%. In one run without the hint to the L2 251.6, 481.8 and 433.2 us, with it 248.9, 479.4, 431.1.
// @workspace float part_o[2 * shares(num_seqs, num_kv_heads, max_blocks_per_seq) * num_heads * D]
// @workspace float part_m[2 * shares(num_seqs, num_kv_heads, max_blocks_per_seq) * num_heads]
// @workspace float part_l[2 * shares(num_seqs, num_kv_heads, max_blocks_per_seq) * num_heads]
// @launch decode_rings<D><<<cdiv(shares(num_seqs, num_kv_heads, max_blocks_per_seq) * num_kv_heads, kWarps), 32 * kWarps, kWarps * kStages * 2 * kTokens * D * sizeof(float)>>>(q, k_cache, v_cache, block_table, context_lens, out, part_o, part_m, part_l, num_seqs, num_heads / num_kv_heads, num_kv_heads, shares(num_seqs, num_kv_heads, max_blocks_per_seq), max_blocks_per_seq, scale)
// @launch merge_shares<D><<<num_seqs * num_heads, 32 * kMergeWarps>>>(part_o, part_m, part_l, context_lens, out, num_seqs, num_heads / num_kv_heads, num_kv_heads, shares(num_seqs, num_kv_heads, max_blocks_per_seq))
#include "common.cuh"

constexpr int kPage = 16;
constexpr int kStep = 8;         // tokens: what shares are counted in
constexpr int kTokens = 8;       // a round of a warp; divides a step
constexpr int kStages = 2;       // rounds in the ring
constexpr int kWidth = 8;        // floats of a row in one lane
constexpr int kWarps = 4;        // a CTA
constexpr int kCtasPerSm = 2;
constexpr int kMergeWarps = 8;  // a CTA of the second launch
constexpr int kMaxGroup = 8;     // query heads a KV head may serve
constexpr int kWorkers = 132 * kCtasPerSm * kWarps;  // warps that an H200 holds at once
constexpr float kLog2e = 1.4426950408889634f;
constexpr float kLowest = -3e38f;  // a maximum without a score: finite, so that differences are no NaN
constexpr unsigned kAll = 0xffffffffu;

// Shares of the row of steps; each is worked on by num_kv_heads warps.
__host__ __device__ constexpr int shares(int num_seqs, int num_kv_heads, int max_blocks_per_seq) {
  const int even = kWorkers / num_kv_heads, most = num_seqs * max_blocks_per_seq;
  return even < 1 ? 1 : even < most ? even : most;
}

__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ int steps_of(int context) { return (context + kStep - 1) / kStep; }

// First step of a share.
__device__ __forceinline__ int share_begin(int share, int all, int count) {
  return static_cast<int>(static_cast<long long>(share) * all / count);
}

__device__ __forceinline__ int sum_of_warp(int x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(kAll, x, step);
  return x;
}

// Four floats at an address that 16 divides.
__device__ __forceinline__ float4& quad(float* at) { return *reinterpret_cast<float4*>(at); }
__device__ __forceinline__ const float4& quad(const float* at) { return *reinterpret_cast<const float4*>(at); }

// What is read once is marked to leave the L2 first.
__device__ __forceinline__ void copy_16(float* to, const float* from, bool used) {
  unsigned long long leaves_first;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(leaves_first));
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(used ? 16 : 0), "l"(leaves_first)
               : "memory");
}

// The tokens first .. last - 1 of one sequence and KV head. queries: one row a query head, asked for, and here with the
// first round. factor: scale * log2(e). ring: kStages rounds of K rows, then V rows. o, m, l: where the results go, o divided by l where the piece is the whole sequence.
template <int D>
__device__ __forceinline__ void piece(float (*queries)[D], float* ring, const float* k_head, const float* v_head,
                                      const int* table, int first, int last, int group, size_t stride, float factor,
                                      float* out_o, float* out_m, float* out_l, bool whole) {
  constexpr int kLanes = D / kWidth;         // lanes a row
  constexpr int kRows = 32 / kLanes;         // rows the warp works on at once
  constexpr int kDeep = kTokens / kRows;     // of K, and of V, in each lane
  constexpr int kQuads = kWidth / 4;         // float4 of a row in each lane
  const int lane = threadIdx.x % 32;
  const int row = lane / kLanes, column = 4 * (lane % kLanes);

  float o[kMaxGroup][kWidth], m[kMaxGroup], l[kMaxGroup];
#pragma unroll
  for (int g = 0; g < kMaxGroup; ++g) {
    m[g] = kLowest;
    l[g] = 0.f;
#pragma unroll
    for (int d = 0; d < kWidth; ++d) o[g][d] = 0.f;
  }

  // A lane knows one of 32 pages that follow each other; shuffles hand them round.
  const int last_page = (last - 1) / kPage;
  int known = first / kPage, slot_in = 0, slot_out = 0;
  int pages = known + lane <= last_page ? table[known + lane] : 0;
  for (int t = first - (kStages - 1) * kTokens; t < last; t += kTokens) {
    const int ahead = t + (kStages - 1) * kTokens;
    if (ahead < last) {
      if (ahead / kPage >= known + 32) {
        known += 32;
        pages = known + lane <= last_page ? table[known + lane] : 0;
      }
      const size_t slot = static_cast<size_t>(__shfl_sync(kAll, pages, ahead / kPage - known)) * kPage + ahead % kPage;
      float* to = ring + slot_in * (2 * kTokens * D);
#pragma unroll
      for (int i = 0; i < kTokens * D / 128; ++i) {
        const int at = 128 * i + 4 * lane, token = at / D;
        const size_t from = (slot + token) * stride + at % D;
        copy_16(to + at, k_head + from, ahead + token < last);
        copy_16(to + kTokens * D + at, v_head + from, ahead + token < last);
      }
      slot_in = slot_in + 1 == kStages ? 0 : slot_in + 1;
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (t < first) continue;
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 1) : "memory");
    __syncwarp();

    const float* from = ring + slot_out * (2 * kTokens * D) + row * D + column;
    slot_out = slot_out + 1 == kStages ? 0 : slot_out + 1;
    alignas(16) float key[kDeep][kWidth], value[kDeep][kWidth];
#pragma unroll
    for (int i = 0; i < kDeep; ++i) {
#pragma unroll
      for (int j = 0; j < kQuads; ++j) {
        quad(&key[i][4 * j]) = quad(from + i * kRows * D + j * (D / kQuads));
        quad(&value[i][4 * j]) = quad(from + (kTokens + i * kRows) * D + j * (D / kQuads));
      }
    }
#pragma unroll
    for (int g = 0; g < kMaxGroup; ++g) {
      if (g >= group) break;
      alignas(16) float query[kWidth];
      float s[kDeep], top = m[g];
#pragma unroll
      for (int j = 0; j < kQuads; ++j) quad(&query[4 * j]) = quad(queries[g] + column + j * (D / kQuads));
#pragma unroll
      for (int i = 0; i < kDeep; ++i) {
        s[i] = 0.f;
#pragma unroll
        for (int d = 0; d < kWidth; ++d) s[i] = fmaf(query[d], key[i][d], s[i]);
#pragma unroll
        for (int other = kLanes / 2; other > 0; other /= 2) s[i] += __shfl_xor_sync(kAll, s[i], other);
        if (t + i * kRows + row >= last) s[i] = -INFINITY;
        top = fmaxf(top, s[i] * factor);
      }
      const float correction = exp2_fast(m[g] - top);
      m[g] = top;
      l[g] *= correction;
#pragma unroll
      for (int d = 0; d < kWidth; ++d) o[g][d] *= correction;
#pragma unroll
      for (int i = 0; i < kDeep; ++i) {
        const float w = exp2_fast(fmaf(s[i], factor, -top));
        l[g] += w;
#pragma unroll
        for (int d = 0; d < kWidth; ++d) o[g][d] = fmaf(w, value[i][d], o[g][d]);
      }
    }
    __syncwarp();  // the round may be overwritten
  }

  // The lanes that own the same dimensions of other rows merge.
#pragma unroll
  for (int g = 0; g < kMaxGroup; ++g) {
    if (g >= group) break;
    float top = m[g];
#pragma unroll
    for (int other = kLanes; other < 32; other *= 2) top = fmaxf(top, __shfl_xor_sync(kAll, top, other));
    float factor = exp2_fast(m[g] - top);
    l[g] *= factor;
#pragma unroll
    for (int other = kLanes; other < 32; other *= 2) l[g] += __shfl_xor_sync(kAll, l[g], other);
    if (whole) factor /= l[g];
#pragma unroll
    for (int d = 0; d < kWidth; ++d) {
      float sum = o[g][d] * factor;
#pragma unroll
      for (int other = kLanes; other < 32; other *= 2) sum += __shfl_xor_sync(kAll, sum, other);
      if (row == 0) out_o[g * D + column + d / 4 * (D / kQuads) + d % 4] = sum;
    }
    if (!whole && lane == 0) {
      out_m[g] = top;
      out_l[g] = l[g];
    }
  }
}

template <int D>
__global__ void __launch_bounds__(32 * kWarps, kCtasPerSm)
decode_rings(const float* __restrict__ q, const float* __restrict__ k_cache, const float* __restrict__ v_cache,
              const int* __restrict__ block_table, const int* __restrict__ context_lens, float* __restrict__ out,
              float* __restrict__ part_o, float* __restrict__ part_m, float* __restrict__ part_l, int num_seqs,
              int group, int num_kv_heads, int num_shares, int max_blocks_per_seq, float scale) {
  extern __shared__ __align__(16) float rings[];
  __shared__ __align__(16) float queries[kWarps][kMaxGroup][D];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float* ring = rings + warp * (kStages * 2 * kTokens * D);
  const int worker = blockIdx.x * kWarps + warp;
  const int share = worker / num_kv_heads, kv_head = worker % num_kv_heads;
  int all = 0;
  for (int i = lane; i < num_seqs; i += 32) all += steps_of(context_lens[i]);
  all = sum_of_warp(all);
  num_shares = min(num_shares, all);  // so that none is empty
  if (share >= num_shares) return;    // the whole warp leaves
  int at = share_begin(share, all, num_shares);
  const int end = share_begin(share + 1, all, num_shares);

  // The sequence in which the share begins, and the steps before that sequence.
  int seq = 0, before = 0;
  for (int first = 0; first < num_seqs; first += 32) {
    int passed = first + lane < num_seqs ? steps_of(context_lens[first + lane]) : 0;
    for (int step = 1; step < 32; step *= 2) {
      const int lower = __shfl_up_sync(kAll, passed, step);
      if (lane >= step) passed += lower;
    }
    const int done = __popc(__ballot_sync(kAll, before + passed <= at));
    seq = first + done;
    if (done < 32) {
      if (done > 0) before += __shfl_sync(kAll, passed, done - 1);
      break;
    }
    before += __shfl_sync(kAll, passed, 31);
  }

  while (at < end) {
    const int context = context_lens[seq];
    const int count = steps_of(context), first = at - before, last = min(count, end - before);
    const size_t head = (static_cast<size_t>(seq) * num_kv_heads + kv_head) * group;
    // A share has at most two pieces that are no whole sequence: one that goes on from the share before, one that
    // goes on in the next.
    const size_t place = (static_cast<size_t>(worker) * 2 + (first == 0)) * group;
    const bool whole = first == 0 && last == count;
    const size_t stride = static_cast<size_t>(num_kv_heads) * D;
    const float* keys = k_cache + static_cast<size_t>(kv_head) * D;
    const float* values = v_cache + static_cast<size_t>(kv_head) * D;
    const int* table = block_table + static_cast<size_t>(seq) * max_blocks_per_seq;
    const int begin_token = first * kStep, end_token = min(last * kStep, context);
    if (first < last) {
      __syncwarp();  // nobody still reads the queries of the sequence before
      for (int i = 4 * lane; i < group * D; i += 128) copy_16(&queries[warp][0][i], q + head * D + i, true);
      piece<D>(queries[warp], ring, keys, values, table, begin_token, end_token, group, stride, scale * kLog2e,
               whole ? out + head * D : part_o + place * D, part_m + place, part_l + place, whole);
    }
    at = before + last;
    before += count;
    ++seq;
  }
}

// One CTA a query head: the pieces of its sequence, where there are several. Warp w has every kMergeWarps-th of them, from
// the w-th on; its lanes weigh 32 pieces at once, so that the loads of o do not wait for each other.
template <int D>
__global__ void __launch_bounds__(32 * kMergeWarps, 1024 / (32 * kMergeWarps))
merge_shares(const float* __restrict__ part_o, const float* __restrict__ part_m, const float* __restrict__ part_l,
             const int* __restrict__ context_lens, float* __restrict__ out, int num_seqs, int group, int num_kv_heads,
             int num_shares) {
  __shared__ float sums[kMergeWarps][D], totals[kMergeWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int head = blockIdx.x;
  const int kv_head = head / group % num_kv_heads, seq = head / group / num_kv_heads;
  int all = 0, before = 0;
  for (int i = lane; i < num_seqs; i += 32) {
    const int count = steps_of(context_lens[i]);
    all += count;
    if (i < seq) before += count;
  }
  all = sum_of_warp(all);
  before = sum_of_warp(before);
  num_shares = min(num_shares, all);
  const int count = steps_of(context_lens[seq]);
  if (count == 0) {
    for (int d = threadIdx.x; d < D; d += 32 * kMergeWarps) out[static_cast<size_t>(head) * D + d] = 0.f;
    return;
  }
  // The share that has step x is the last one that begins at or before it.
  const int from = static_cast<int>((static_cast<long long>(before + 1) * num_shares - 1) / all);
  const int to = static_cast<int>((static_cast<long long>(before + count) * num_shares - 1) / all);
  if (from >= to) return;  // the whole CTA leaves
  auto place = [&](int share) {
    const size_t worker = static_cast<size_t>(share) * num_kv_heads + kv_head;
    return (worker * 2 + (share == from)) * group + head % group;
  };
  float top = kLowest;
  for (int share = from + lane; share <= to; share += 32) top = fmaxf(top, part_m[place(share)]);
#pragma unroll
  for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(kAll, top, step));
  float total = 0.f, sum[D / 32] = {};
  for (int first = from + warp; first <= to; first += 32 * kMergeWarps) {
    const int mine = first + lane * kMergeWarps;
    float weight = 0.f;
    if (mine <= to) {
      weight = exp2_fast(part_m[place(mine)] - top);
      total += weight * part_l[place(mine)];
    }
    const int pieces = min(32, (to - first) / kMergeWarps + 1);
#pragma unroll 8
    for (int i = 0; i < pieces; ++i) {
      const float w = __shfl_sync(kAll, weight, i);
      const float* o = part_o + place(first + i * kMergeWarps) * D + lane;
#pragma unroll
      for (int d = 0; d < D / 32; ++d) sum[d] = fmaf(w, o[32 * d], sum[d]);
    }
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(kAll, total, step);
#pragma unroll
  for (int d = 0; d < D / 32; ++d) sums[warp][lane + 32 * d] = sum[d];
  if (lane == 0) totals[warp] = total;
  __syncthreads();
  for (int d = threadIdx.x; d < D; d += 32 * kMergeWarps) {
    float of_all = sums[0][d], weights = totals[0];
#pragma unroll
    for (int other = 1; other < kMergeWarps; ++other) {
      of_all += sums[other][d];
      weights += totals[other];
    }
    out[static_cast<size_t>(head) * D + d] = of_all / weights;
  }
}
