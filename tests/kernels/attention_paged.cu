// Decode attention over a paged cache: a block of 4 warps a head, pages of 16 tokens, head size 64; merge of splits.
constexpr int PAGE = 16, HEAD = 64, WARPS = 4;

extern "C" __global__ void paged_decode(const float* q, const float* k_cache, const float* v_cache, const int* block_table,
                                        const int* context_lens, float* out, int num_heads, int num_kv_heads, int max_blocks, float scale) {
  __shared__ float part_o[WARPS][HEAD], part_m[WARPS], part_l[WARPS];
  int head = blockIdx.x, seq = blockIdx.y, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int kv_head = head / (num_heads / num_kv_heads);
  const float2 query = reinterpret_cast<const float2*>(q + ((size_t)seq * num_heads + head) * HEAD)[lane];
  float m = -__int_as_float(0x7f800000), l = 0.0f;
  float2 o = make_float2(0.0f, 0.0f);
  for (int token = warp; token < context_lens[seq]; token += WARPS) {
    int block = block_table[seq * max_blocks + token / PAGE];
    size_t at = (((size_t)block * PAGE + token % PAGE) * num_kv_heads + kv_head) * HEAD;
    float2 k = reinterpret_cast<const float2*>(k_cache + at)[lane], v = reinterpret_cast<const float2*>(v_cache + at)[lane];
    float s = query.x * k.x + query.y * k.y;
    for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
    s *= scale;
    float next = fmaxf(m, s), keep = __expf(m - next), p = __expf(s - next);
    l = l * keep + p;
    o.x = o.x * keep + p * v.x;
    o.y = o.y * keep + p * v.y;
    m = next;
  }
  part_o[warp][2 * lane] = o.x;
  part_o[warp][2 * lane + 1] = o.y;
  if (lane == 0) part_m[warp] = m, part_l[warp] = l;
  __syncthreads();
  if (threadIdx.x < HEAD) {
    float top = fmaxf(fmaxf(part_m[0], part_m[1]), fmaxf(part_m[2], part_m[3])), sum = 0.0f, value = 0.0f;
    for (int w = 0; w < WARPS; ++w) {
      float weight = part_l[w] > 0.0f ? __expf(part_m[w] - top) : 0.0f;
      sum += weight * part_l[w];
      value += weight * part_o[w][threadIdx.x];
    }
    out[((size_t)seq * num_heads + head) * HEAD + threadIdx.x] = sum > 0.0f ? value / sum : 0.0f;
  }
}

extern "C" __global__ void merge_splits(const float* o_part, const float* m_part, const float* l_part, float* out, int splits) {
  float top = -__int_as_float(0x7f800000), sum = 0.0f, value = 0.0f;
  for (int s = 0; s < splits; ++s)
    if (l_part[blockIdx.x * splits + s] > 0.0f) top = fmaxf(top, m_part[blockIdx.x * splits + s]);
  for (int s = 0; s < splits; ++s) {
    float l = l_part[blockIdx.x * splits + s];
    if (!(l > 0.0f)) continue;
    float weight = expf(m_part[blockIdx.x * splits + s] - top);
    sum += weight * l;
    value += weight * o_part[(blockIdx.x * splits + s) * blockDim.x + threadIdx.x];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum > 0.0f ? value / sum : 0.0f;
}
