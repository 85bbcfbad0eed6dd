// problem: paged-decode-bf16
// Every warp streams an even share of all pages through a ring of its own, and tensor cores do the float32 products.
//
// Added over rows_in_registers.cu:
// - Pages of all sequences stand in one row, and each warp takes an even share of it for one KV head, wherever sequences
//   begin and end; a second launch merges the pieces. gqa-decode's rings.cu leads here.
// - Pages are copied with cp.async, kStages - 1 ahead of the one that is worked on, also where a share goes on in the next
//   sequence. No barrier of the CTA in the loop.
// - K and V are marked to leave the L2 first, as __ldcs marks loads: nobody reads them again.
// - The second launch is told where the shares of a sequence begin and end by those who work on its first and last page, and
//   asks for several pieces before it uses the first.
// - Half the bytes a token leave half the time for its products: float32 multiply-adds, shuffles and powers of 8 query
//   heads would take 150 instructions a token and SM, memory leaves time for 120. So tensor cores multiply, and stay
//   exact: a float32 is the sum of three bfloat16, K and V are bfloat16, products are summed in float32. The left operand
//   of mma.sync has 16 rows: 8 query heads' first parts and, below, their second parts; lane i gets both sums of head i / 4,
//   and no shuffle is needed but for the maximum. Weights go in two parts (16 bits; the sum of weights is of the same).
// - o is rescaled only when a maximum passes what weights are measured against by a factor of 2^8.
// Predicted: 48 mma and 16 ldmatrix a page are 1/4 of what an SM does while a page arrives: 95% of the roof.
// Measured: H200, 64 x 4096: 245.3 us, 4386 GB/s, 95.9% of the roof; mixed: 74.5 us, 81.6%. In another run 252.6 us without the
// hint to the L2, 248.5 with it, 246.0 with the second launch above too, 245.5 as here. docs/ladders.md has what else was tried.
// @workspace float part_o[2 * shares(num_seqs, num_kv_heads, max_blocks_per_seq) * num_heads * D]
// @workspace float part_m[2 * shares(num_seqs, num_kv_heads, max_blocks_per_seq) * num_heads]
// @workspace float part_l[2 * shares(num_seqs, num_kv_heads, max_blocks_per_seq) * num_heads]
// @workspace int2 spans[num_seqs * num_kv_heads]
// @launch decode_rings<D><<<cdiv(shares(num_seqs, num_kv_heads, max_blocks_per_seq) * num_kv_heads, kWarps), 32 * kWarps, kWarps * kStages * 2 * kPage * D * sizeof(__nv_bfloat16)>>>(q, k_cache, v_cache, block_table, context_lens, out, part_o, part_m, part_l, spans, num_seqs, num_heads / num_kv_heads, num_kv_heads, shares(num_seqs, num_kv_heads, max_blocks_per_seq), max_blocks_per_seq, scale)
// @launch merge_shares<D><<<cdiv(num_seqs * num_heads, kMergeWarps), 32 * kMergeWarps>>>(part_o, part_m, part_l, spans, out, num_seqs * num_heads, num_heads / num_kv_heads, num_kv_heads)
#include <cuda_bf16.h>
#include "common.cuh"

constexpr int kPage = 16;        // tokens: a round of a warp, and what shares are counted in
constexpr int kStages = 2;       // rounds in the ring
constexpr int kWarps = 4;        // a CTA
constexpr int kCtasPerSm = 2;
constexpr int kMergeWarps = 8;   // a CTA of the second launch, each with a query head
constexpr int kAtOnce = 4;       // pieces that are merged at once
constexpr int kWorkers = 132 * kCtasPerSm * kWarps;  // warps that an H200 holds at once
constexpr float kLog2e = 1.4426950408889634f;
constexpr float kLowest = -3e38f;  // a maximum without a score: finite, so that differences are no NaN
constexpr float kSlack = 8.f;    // a maximum may pass what weights are measured against by so many powers of 2
constexpr unsigned kAll = 0xffffffffu;

// Shares of the row of pages; each is worked on by num_kv_heads warps.
__host__ __device__ constexpr int shares(int num_seqs, int num_kv_heads, int max_blocks_per_seq) {
  const int even = kWorkers / num_kv_heads, most = num_seqs * max_blocks_per_seq;
  return even < 1 ? 1 : even < most ? even : most;
}

__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ int pages_of(int context) { return (context + kPage - 1) / kPage; }

// First page of a share.
__device__ __forceinline__ int share_begin(int share, int all, int count) {
  return static_cast<int>(static_cast<long long>(share) * all / count);
}

__device__ __forceinline__ int sum_of_warp(int x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(kAll, x, step);
  return x;
}

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// What is read once is marked to leave the L2 first.
__device__ __forceinline__ void copy_16(unsigned to, const __nv_bfloat16* from, bool used) {
  unsigned long long leaves_first;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(leaves_first));
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(to), "l"(from), "r"(used ? 16 : 0),
               "l"(leaves_first)
               : "memory");
}

// Where the 16 bytes of a column lie in a tile with rows of D values: ldmatrix meets no bank conflict.
template <int D>
__device__ __forceinline__ int place(int row, int column) {
  constexpr int kColumns = D / 8, kApart = kColumns < 8 ? 8 / kColumns : 1;
  return row * D + 8 * (column ^ row / kApart % (kColumns < 8 ? kColumns : 8));
}

// Four 8 x 8 matrices; lane i names row i % 8 of matrix i / 8.
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], const __nv_bfloat16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

__device__ __forceinline__ void load_matrices_turned(unsigned (&to)[4], const __nv_bfloat16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

// c += a b for a 16 x 16 and b 16 x 8, summed in float. Rows 0 .. 7 of a are a0 and a2, rows 8 .. 15 a1 and a3.
__device__ __forceinline__ void multiply_add(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                             unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Two floats rounded to bfloat16; what is left of them stays in x and y.
__device__ __forceinline__ unsigned take_part(float& x, float& y) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(x, y);
  x -= __low2float(pair);
  y -= __high2float(pair);
  return *reinterpret_cast<const unsigned*>(&pair);
}

// What a warp has still to ask for: the pages of its share, across sequences.
template <int D>
struct Ahead {
  const __nv_bfloat16 *k_head, *v_head;
  const int *table, *context_lens;
  size_t stride;
  int table_row;      // entries of a sequence in the block table
  int left;           // pages
  int seq, token;     // of the next page
  int context;        // of seq
  int known, pages;   // a lane knows one of 32 pages that follow each other, from known on; shuffles hand them round
  int slot;           // of the ring

  __device__ __forceinline__ void know(int first) {
    const int lane = threadIdx.x % 32;
    known = first;
    pages = first + lane < pages_of(context) ? table[static_cast<size_t>(seq) * table_row + first + lane] : 0;
  }

  __device__ __forceinline__ void ask(__nv_bfloat16* ring) {
    constexpr int kColumns = D / 8, kTile = kPage * D;
    const int lane = threadIdx.x % 32;
    if (left > 0) {
      --left;
      if (token >= context) {
        do context = context_lens[++seq]; while (context <= 0);
        token = 0;
        know(0);
      } else if (token / kPage >= known + 32) {
        know(known + 32);
      }
      const size_t first = static_cast<size_t>(__shfl_sync(kAll, pages, token / kPage - known)) * kPage;
      const unsigned keys = shared_address(ring + slot * (2 * kTile)), values = keys + kTile * sizeof(__nv_bfloat16);
#pragma unroll
      for (int i = 0; i < kTile / 256; ++i) {
        const int row = (32 * i + lane) / kColumns, column = (32 * i + lane) % kColumns;
        const size_t from = (first + row) * stride + 8 * column;
        const unsigned at = place<D>(row, column) * sizeof(__nv_bfloat16);
        copy_16(keys + at, k_head + from, token + row < context);
        copy_16(values + at, v_head + from, token + row < context);
      }
      token += kPage;
      slot = slot + 1 == kStages ? 0 : slot + 1;
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
};

// The tokens first .. last - 1 of one sequence and KV head; first begins a page. queries: group rows. ring: kStages
// pages of K rows, then V rows, the oldest in slot_out. factor: scale * log2(e). o, m, l: where the results go, o divided by
// l where the piece is the whole sequence. Lane i has query head i / 4; of every 8 tokens, or dimensions, two: 2 (i % 4) and
// the next.
template <int D>
__device__ __forceinline__ void piece(const float* queries, __nv_bfloat16* ring, Ahead<D>& ahead, int& slot_out, int first,
                                      int last, int group, float factor, float* out_o, float* out_m, float* out_l,
                                      bool whole) {
  constexpr int kTile = kPage * D;
  const int lane = threadIdx.x % 32, head = lane / 4, pair = lane % 4 * 2;

  unsigned q[D / 16][2][3];  // of 16 dimensions two pairs, each in three parts
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float2 x = make_float2(0.f, 0.f);
      if (head < group) x = *reinterpret_cast<const float2*>(queries + head * D + 16 * step + 8 * half + pair);
#pragma unroll
      for (int part = 0; part < 3; ++part) q[step][half][part] = take_part(x.x, x.y);
    }
  }
  float o[D / 8][4], m = -INFINITY, l = 0.f;
#pragma unroll
  for (int block = 0; block < D / 8; ++block)
#pragma unroll
    for (int e = 0; e < 4; ++e) o[block][e] = 0.f;

  for (int t = first; t < last; t += kPage) {
    ahead.ask(ring);
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 1) : "memory");
    __syncwarp();
    const __nv_bfloat16* k_tile = ring + slot_out * (2 * kTile);
    const __nv_bfloat16* v_tile = k_tile + kTile;
    slot_out = slot_out + 1 == kStages ? 0 : slot_out + 1;

    float sums[2][4] = {};  // of 8 tokens each: a pair with the first parts and the third, a pair with the second
#pragma unroll
    for (int step = 0; step < D / 16; ++step) {
      unsigned k[4];  // tokens 0 .. 7 and 8 .. 15, each with the lower and the upper 8 dimensions
      load_matrices(k, k_tile + place<D>(lane / 16 * 8 + lane % 8, 2 * step + lane / 8 % 2));
#pragma unroll
      for (int block = 0; block < 2; ++block) {
        multiply_add(sums[block], q[step][0][0], q[step][0][1], q[step][1][0], q[step][1][1], k[2 * block],
                     k[2 * block + 1]);
        multiply_add(sums[block], q[step][0][2], 0u, q[step][1][2], 0u, k[2 * block], k[2 * block + 1]);
      }
    }
    float s[2][2], top = -INFINITY;
#pragma unroll
    for (int block = 0; block < 2; ++block) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        s[block][e] = t + 8 * block + pair + e < last ? sums[block][e] + sums[block][e + 2] : -INFINITY;
        top = fmaxf(top, s[block][e]);
      }
    }
    top = fmaxf(top, __shfl_xor_sync(kAll, top, 1));
    top = fmaxf(top, __shfl_xor_sync(kAll, top, 2)) * factor;
    const bool raised = top > m + kSlack;
    if (__any_sync(kAll, raised)) {
      const float base = raised ? top : m, correction = exp2_fast(m - base);
      m = base;
      l *= correction;
#pragma unroll
      for (int block = 0; block < D / 8; ++block)
#pragma unroll
        for (int e = 0; e < 4; ++e) o[block][e] *= correction;
    }
    unsigned p[2][2];
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      float x = exp2_fast(fmaf(s[block][0], factor, -m)), y = exp2_fast(fmaf(s[block][1], factor, -m));
      l += x + y;
      p[block][0] = take_part(x, y);
      p[block][1] = take_part(x, y);
      l -= x + y;  // what the parts leave out
    }
#pragma unroll
    for (int block = 0; block < D / 8; block += 2) {
      unsigned v[4];  // dimensions 8 block .. + 7 and + 8 .. + 15, each with the lower and the upper 8 tokens
      load_matrices_turned(v, v_tile + place<D>(lane % 16, block + lane / 16));
      multiply_add(o[block], p[0][0], p[0][1], p[1][0], p[1][1], v[0], v[1]);
      multiply_add(o[block + 1], p[0][0], p[0][1], p[1][0], p[1][1], v[2], v[3]);
    }
    __syncwarp();  // the page may be overwritten
  }

  l += __shfl_xor_sync(kAll, l, 1);
  l += __shfl_xor_sync(kAll, l, 2);
  if (head >= group) return;
  const float weight = whole ? 1.f / l : 1.f;
#pragma unroll
  for (int block = 0; block < D / 8; ++block) {
    *reinterpret_cast<float2*>(out_o + head * D + 8 * block + pair) =
        make_float2((o[block][0] + o[block][2]) * weight, (o[block][1] + o[block][3]) * weight);
  }
  if (!whole && pair == 0) {
    out_m[head] = m;
    out_l[head] = l;
  }
}

template <int D>
__global__ void __launch_bounds__(32 * kWarps, kCtasPerSm)
decode_rings(const float* __restrict__ q, const __nv_bfloat16* __restrict__ k_cache,
             const __nv_bfloat16* __restrict__ v_cache, const int* __restrict__ block_table,
             const int* __restrict__ context_lens, float* __restrict__ out, float* __restrict__ part_o,
             float* __restrict__ part_m, float* __restrict__ part_l, int2* spans, int num_seqs, int group,
             int num_kv_heads, int num_shares, int max_blocks_per_seq, float scale) {
  extern __shared__ __align__(16) __nv_bfloat16 rings[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __nv_bfloat16* ring = rings + warp * (kStages * 2 * kPage * D);
  const int worker = blockIdx.x * kWarps + warp;
  const int share = worker / num_kv_heads, kv_head = worker % num_kv_heads;
  int all = 0;
  for (int i = lane; i < num_seqs; i += 32) all += pages_of(context_lens[i]);
  all = sum_of_warp(all);
  num_shares = min(num_shares, all);  // so that none is empty
  if (share >= num_shares) return;    // the whole warp leaves
  int at = share_begin(share, all, num_shares);
  const int end = share_begin(share + 1, all, num_shares);

  // The sequence in which the share begins, and the steps before that sequence.
  int seq = 0, before = 0;
  for (int first = 0; first < num_seqs; first += 32) {
    int passed = first + lane < num_seqs ? pages_of(context_lens[first + lane]) : 0;
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

  const size_t stride = static_cast<size_t>(num_kv_heads) * D;
  Ahead<D> ahead;
  ahead.k_head = k_cache + static_cast<size_t>(kv_head) * D;
  ahead.v_head = v_cache + static_cast<size_t>(kv_head) * D;
  ahead.table = block_table;
  ahead.context_lens = context_lens;
  ahead.stride = stride;
  ahead.table_row = max_blocks_per_seq;
  ahead.left = end - at;
  ahead.seq = seq;
  ahead.token = (at - before) * kPage;
  ahead.context = context_lens[seq];
  ahead.slot = 0;
  ahead.know(at - before);
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) ahead.ask(ring);
  int slot_out = 0;

  while (at < end) {
    const int context = context_lens[seq];
    const int count = pages_of(context), first = at - before, last = min(count, end - before);
    const size_t head = (static_cast<size_t>(seq) * num_kv_heads + kv_head) * group;
    // A share has at most two pieces that are no whole sequence: one that goes on from the share before, one that
    // goes on in the next.
    const size_t place = (static_cast<size_t>(worker) * 2 + (first == 0)) * group;
    const bool whole = first == 0 && last == count;
    const int begin_token = first * kPage, end_token = min(last * kPage, context);
    if (first < last) {
      piece<D>(q + head * D, ring, ahead, slot_out, begin_token, end_token, group, scale * kLog2e,
               whole ? out + head * D : part_o + place * D, part_m + place, part_l + place, whole);
    }
    if (lane == 0 && first < last) {
      int2* span = &spans[seq * num_kv_heads + kv_head];
      if (first == 0) span->x = share;
      if (last == count) span->y = share;
    }
    at = before + last;
    before += count;
    ++seq;
  }
}

// D / 32 floats that follow each other, one load.
template <int N>
struct alignas(4 * N) Floats {
  float at[N];
};

// One warp a query head whose sequence lies in several pieces. All loads of kAtOnce pieces leave before the first is used.
template <int D>
__global__ void __launch_bounds__(32 * kMergeWarps)
merge_shares(const float* __restrict__ part_o, const float* __restrict__ part_m, const float* __restrict__ part_l,
             const int2* __restrict__ spans, float* __restrict__ out, int heads, int group, int num_kv_heads) {
  const int lane = threadIdx.x % 32, head = blockIdx.x * kMergeWarps + threadIdx.x / 32;
  if (head >= heads) return;
  const int kv_head = head / group % num_kv_heads;
  const int2 span = spans[head / group];  // its first share and its last
  if (span.x >= span.y) return;
  const size_t first = (static_cast<size_t>(span.x) * num_kv_heads + kv_head) * 2 * group + head % group;
  const size_t apart = static_cast<size_t>(num_kv_heads) * 2 * group;
  float top = kLowest, total = 0.f;
  Floats<D / 32> sum = {};
  for (int share = span.x; share <= span.y; share += kAtOnce) {
    float m[kAtOnce], l[kAtOnce];
    Floats<D / 32> o[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      m[i] = kLowest;
      l[i] = 0.f;
      o[i] = {};
      if (share + i <= span.y) {
        const size_t place = first + (share - span.x + i) * apart + (share + i == span.x ? group : 0);
        m[i] = part_m[place];
        l[i] = part_l[place];
        o[i] = reinterpret_cast<const Floats<D / 32>*>(part_o + place * D)[lane];
      }
    }
    float highest = top;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) highest = fmaxf(highest, m[i]);
    const float correction = exp2_fast(top - highest);
    top = highest;
    total *= correction;
#pragma unroll
    for (int d = 0; d < D / 32; ++d) sum.at[d] *= correction;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float weight = exp2_fast(m[i] - top);
      total = fmaf(weight, l[i], total);
#pragma unroll
      for (int d = 0; d < D / 32; ++d) sum.at[d] = fmaf(weight, o[i].at[d], sum.at[d]);
    }
  }
#pragma unroll
  for (int d = 0; d < D / 32; ++d) sum.at[d] /= total;
  reinterpret_cast<Floats<D / 32>*>(out + static_cast<size_t>(head) * D)[lane] = sum;
}
