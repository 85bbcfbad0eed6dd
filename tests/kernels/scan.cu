// Inclusive prefix sums: within a warp by shfl_up, within a block of up to 1024 threads.
__device__ int warp_scan(int value, int lane) {
  for (int offset = 1; offset < 32; offset *= 2) {
    int below = __shfl_up_sync(0xffffffffu, value, offset);
    if (lane >= offset) value += below;
  }
  return value;
}

extern "C" __global__ void scan_warps(const int* in, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = warp_scan(in[i], threadIdx.x & 31);
}

extern "C" __global__ void scan_block(const int* in, int* out, int n) {
  __shared__ int totals[32];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  int value = warp_scan(t < n ? in[t] : 0, lane);
  if (lane == 31) totals[warp] = value;
  __syncthreads();
  if (warp == 0) totals[lane] = warp_scan(lane < blockDim.x / 32 ? totals[lane] : 0, lane);
  __syncthreads();
  if (warp > 0) value += totals[warp - 1];
  if (t < n) out[t] = value;
}
