// Special registers and clocks.
extern "C" __global__ void special_registers(unsigned* out, long long* clocks) {
  unsigned lane, warp, warps, below, equal, sm;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%warpid;" : "=r"(warp));
  asm("mov.u32 %0, %%nwarpid;" : "=r"(warps));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(equal));
  asm("mov.u32 %0, %%smid;" : "=r"(sm));
  int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned* row = out + t * 8;
  row[0] = lane;
  row[1] = warp;
  row[2] = below;
  row[3] = equal;
  row[4] = blockIdx.z * 10000 + blockIdx.y * 100 + blockIdx.x;
  row[5] = gridDim.x * gridDim.y * gridDim.z;
  row[6] = warps > warp && sm < 1000000u;
  row[7] = warpSize;
  long long begin = clock64();
  clocks[2 * t] = clock64() - begin;
  unsigned long long nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  clocks[2 * t + 1] = nanoseconds != 0 && clock() != 0;
}
