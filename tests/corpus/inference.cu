// What serving a model needs: caches in pages, sampling, routing, masks of several kinds.
#include <cfloat>

// Tokens go to slots of a paged cache; a slot below zero is padding.
extern "C" __global__ void cache_append(const float4* k, const float4* v, float4* cache_k, float4* cache_v, const long long* slots, int heads, int quads, int page) {
  long long slot = slots[blockIdx.x];
  if (slot < 0) return;
  long long block = slot / page, offset = slot % page;
  for (int e = threadIdx.x; e < heads * quads; e += blockDim.x) {
    int head = e / quads, q = e % quads;
    long long to = ((block * heads + head) * page + offset) * quads + q;
    cache_k[to] = k[blockIdx.x * heads * quads + e];
    cache_v[to] = v[blockIdx.x * heads * quads + e];
  }
}

// One token a sequence, keys and values found by a table of pages; online softmax, a warp a (sequence, head).
extern "C" __global__ void decode_paged(const float* q, const float* cache_k, const float* cache_v, const int* table, const int* lengths, float* out, int heads, int pages, int page) {
  int sequence = blockIdx.x, head = threadIdx.y, lane = threadIdx.x;
  float query = q[(sequence * heads + head) * 32 + lane] * rsqrtf(32.0f), m = -FLT_MAX, l = 0.0f, sum = 0.0f;
  for (int j = 0; j < lengths[sequence]; ++j) {
    int block = table[sequence * pages + j / page];
    int at = ((block * heads + head) * page + j % page) * 32 + lane;
    float s = query * cache_k[at];
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
    float bigger = fmaxf(m, s), keep = __expf(m - bigger), p = __expf(s - bigger);
    sum = sum * keep + p * cache_v[at], l = l * keep + p, m = bigger;
  }
  out[(sequence * heads + head) * 32 + lane] = sum / l;
}

// Whole pages move by a list of (from, to), sixteen bytes a thread.
extern "C" __global__ void copy_pages(int4* cache, const long2* moves, int words) {
  long2 move = moves[blockIdx.x];
  for (int e = threadIdx.x; e < words; e += blockDim.x) cache[move.y * words + e] = cache[move.x * words + e];
}

// Queries of one length look at keys of another; a prefix of the keys is open to all, the rest is causal.
extern "C" __global__ void attention_prefix(const float* q, const float* k, const float* v, float* out, int queries, int keys, int prefix) {
  extern __shared__ float scores[];
  int i = blockIdx.x, t = threadIdx.x, seen = max(prefix, i + 1 + keys - queries);
  for (int j = t; j < keys; j += blockDim.x) {
    float s = 0.0f;
    for (int c = 0; c < 16; ++c) s = fmaf(q[i * 16 + c], k[j * 16 + c], s);
    scores[j] = j < seen ? s * 0.25f : -INFINITY;
  }
  __syncthreads();
  float m = -INFINITY, l = 0.0f;
  for (int j = 0; j < keys; ++j) m = fmaxf(m, scores[j]);
  for (int j = 0; j < keys; ++j) l += expf(scores[j] - m);
  for (int c = t; c < 16; c += blockDim.x) {
    float sum = 0.0f;
    for (int j = 0; j < keys; ++j) sum += expf(scores[j] - m) * v[j * 16 + c];
    out[i * 16 + c] = sum / l;
  }
}

// Sequences of different length packed one after another; a block looks up its own by halving.
extern "C" __global__ void attention_packed(const float* q, const float* k, const float* v, const int* starts, float* out, int sequences) {
  int token = blockIdx.x, lane = threadIdx.x, low = 0, high = sequences;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (starts[middle] <= token) low = middle;
    else high = middle;
  }
  float query = q[token * 32 + lane], cap = 5.0f, sum = 0.0f, l = 0.0f;
  for (int j = starts[low]; j < starts[low + 1]; ++j) {
    float s = query * k[j * 32 + lane];
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
    float p = __expf(cap * tanhf(s * 0.17677669f / cap));  // capped, so no maximum is needed
    sum += p * v[j * 32 + lane], l += p;
  }
  out[token * 32 + lane] = sum / l;
}

// Draft tokens are taken while chance allows; the first that is refused ends the sequence.
extern "C" __global__ void speculative_accept(const float* target, const float* draft, const int* tokens, const float* chances, int* accepted, int depth, int words) {
  int s = blockIdx.x, i = threadIdx.x;
  bool good = false;
  if (i < depth) {
    int token = tokens[s * depth + i];
    float p = target[(s * depth + i) * words + token], q = draft[(s * depth + i) * words + token];
    good = chances[s * depth + i] * q < p;
  }
  unsigned refused = ~__ballot_sync(~0u, good);
  if (i == 0) accepted[s] = __ffs(refused) - 1;
}

// Nucleus sampling: the probabilities come sorted; a block scan finds where the mass ends, another where the draw falls.
extern "C" __global__ void sample_top_p(const float* sorted, const int* order, const float* draws, int* out, float limit) {
  __shared__ float line[2][128];
  __shared__ int end, chosen;
  int t = threadIdx.x, now = 0;
  if (t == 0) end = 127, chosen = 127;
  line[0][t] = sorted[blockIdx.x * 128 + t];
  for (int d = 1; d < 128; d *= 2, now ^= 1) {
    __syncthreads();
    line[now ^ 1][t] = line[now][t] + (t >= d ? line[now][t - d] : 0.0f);
  }
  __syncthreads();
  if (line[now][t] >= limit) atomicMin(&end, t);
  __syncthreads();
  if (line[now][t] >= draws[blockIdx.x] * line[now][end]) atomicMin(&chosen, t);
  __syncthreads();
  if (t == 0) out[blockIdx.x] = order[blockIdx.x * 128 + chosen];
}

// Every token counts once, however often it was seen.
extern "C" __global__ void repetition_penalty(float* logits, const int* history, int seen, int words, float penalty) {
  __shared__ unsigned marks[8];
  if (threadIdx.x < 8) marks[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < seen; i += blockDim.x) {
    int token = history[blockIdx.x * seen + i];
    atomicOr(&marks[token / 32], 1u << token % 32);
  }
  __syncthreads();
  for (int w = threadIdx.x; w < words; w += blockDim.x)
    if (marks[w >> 5] >> (w & 31) & 1) {
      float& v = logits[blockIdx.x * words + w];
      v = v > 0 ? v / penalty : v * penalty;
    }
}

// Two of eight experts a token, their weights renormalised; places in each expert's queue by atomics.
extern "C" __global__ void route_two_experts(const float* scores, int2* experts, float2* weights, int* load, int tokens) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= tokens) return;
  float s[8];
#pragma unroll
  for (int e = 0; e < 8; e += 4) *reinterpret_cast<float4*>(s + e) = *reinterpret_cast<const float4*>(scores + t * 8 + e);
  int first = 0, second = -1;
  for (int e = 1; e < 8; ++e)
    if (s[e] > s[first]) second = first, first = e;
    else if (second < 0 || s[e] > s[second]) second = e;
  float share = 1.0f / (1.0f + expf(s[second] - s[first]));
  experts[t] = make_int2(first, second), weights[t] = make_float2(share, 1.0f - share);
  atomicAdd_block(load + blockIdx.x * 8 + first, 1), atomicAdd_block(load + blockIdx.x * 8 + second, 1);
}

// Beams are gathered by their parents; a beam's tokens are followed back from its end.
extern "C" __global__ void beam_trace(const short* tokens, const unsigned char* parents, short* out, int steps, int beams) {
  int beam = threadIdx.x;
  if (beam >= beams) return;
  int at = beam;
  for (int s = steps - 1; s >= 0; --s) {
    out[beam * steps + s] = tokens[s * beams + at];
    at = parents[s * beams + at];
  }
}

// Token and position added up; ids past the table give zeros.
extern "C" __global__ void embed(const int* ids, const float2* table, const float2* positions, float2* out, int words, int pairs) {
  int token = blockIdx.x, id = ids[token];
  bool known = (unsigned)id < (unsigned)words;
  for (int c = threadIdx.x; c < pairs; c += blockDim.x) {
    float2 v = known ? __ldg(&table[id * pairs + c]) : float2{}, p = __ldca(&positions[token * pairs + c]);
    out[token * pairs + c] = float2{v.x + p.x, v.y + p.y};
  }
}

__device__ const float nf4[16] = {-1.0f, -0.6961928f, -0.52507305f, -0.39491749f, -0.28444138f, -0.18477343f, -0.09105004f, 0.0f,
                                  0.0795803f, 0.1609302f, 0.24611230f, 0.33791524f, 0.44070983f, 0.562617f, 0.72295684f, 1.0f};

// Nearest of sixteen levels by halving; a scale for 32 values, two codes a byte.
extern "C" __global__ void quantize_nf4(const float* x, unsigned char* codes, float* scales) {
  int i = blockIdx.x * 32 + threadIdx.x;
  float v = x[i], top = fabsf(v);
  for (int d = 16; d; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
  float unit = v / top;
  int code = 0;
  for (int step = 8; step; step /= 2)
    if (unit > 0.5f * (nf4[code + step - 1] + nf4[code + step])) code += step;
  int neighbor = __shfl_down_sync(~0u, code, 1);
  if (threadIdx.x % 2 == 0) codes[i / 2] = code | neighbor << 4;
  if (threadIdx.x == 0) scales[blockIdx.x] = top;
}

extern "C" __global__ void dequantize_nf4(const uchar4* codes, const float* scales, float* out, int quads) {
  __shared__ float levels[16];
  if (threadIdx.x < 16) levels[threadIdx.x] = nf4[threadIdx.x];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= quads) return;
  uchar4 c = codes[i];
  const unsigned char bytes[4] = {c.x, c.y, c.z, c.w};
#pragma unroll
  for (int k = 0; k < 8; ++k) out[i * 8 + k] = levels[bytes[k / 2] >> (k % 2 * 4) & 15] * scales[i / 4];
}
