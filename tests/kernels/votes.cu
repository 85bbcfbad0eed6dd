// Warp votes and matches: results for each lane.
extern "C" __global__ void votes(const int* in, unsigned* out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  int v = in[t];
  unsigned* row = out + t * 8;
  row[0] = __any_sync(0xffffffffu, v > 3);
  row[1] = __all_sync(0xffffffffu, v > 3);
  row[2] = __ballot_sync(0xffffffffu, v & 1);
  row[3] = __match_any_sync(0xffffffffu, v);
  int same = 0;
  row[4] = __match_all_sync(0xffffffffu, v / 100, &same);
  row[5] = same;
  row[6] = lane < 16 ? __activemask() : 0u;
  row[7] = __popc(__ballot_sync(0xffffffffu, v > 2) & ((1u << lane) - 1));
}

extern "C" __global__ void compact(const int* in, int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  int value = i < n ? in[i] : 0;
  unsigned keep = __ballot_sync(0xffffffffu, value > 0);
  int start = 0;
  if (lane == 0) start = atomicAdd(count, __popc(keep));
  start = __shfl_sync(0xffffffffu, start, 0);
  if (value > 0) out[start + __popc(keep & ((1u << lane) - 1))] = value;
}

extern "C" __global__ void reduce_sync(const int* in, int* out) {
  int v = in[threadIdx.x];
  int* row = out + threadIdx.x * 6;
  row[0] = __reduce_add_sync(~0u, v);
  row[1] = __reduce_min_sync(~0u, v);
  row[2] = __reduce_max_sync(~0u, v);
  row[3] = __reduce_and_sync(~0u, (unsigned)v);
  row[4] = __reduce_or_sync(~0u, (unsigned)v);
  row[5] = __reduce_xor_sync(~0u, (unsigned)v);
}
