// Barriers that count, barriers of a part of the block, and warp barriers.
extern "C" __global__ void counting_barriers(const int* in, int* out) {
  int v = in[threadIdx.x];
  out[threadIdx.x * 3] = __syncthreads_count(v > 2);
  out[threadIdx.x * 3 + 1] = __syncthreads_and(v > 2);
  out[threadIdx.x * 3 + 2] = __syncthreads_or(v > 2);
}

extern "C" __global__ void named_barriers(const int* in, int* out) {
  __shared__ int buffer[128];
  int t = threadIdx.x;
  if (t < 64) {
    buffer[t] = in[t];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t] = buffer[63 - t];
  } else {
    buffer[t] = in[t] + 1;
    asm volatile("bar.sync %0, %1;" ::"r"(2), "r"(64) : "memory");
    out[t] = buffer[191 - t];
  }
}

extern "C" __global__ void producer_consumer(const int* in, int* out) {
  __shared__ int buffer[32];
  int lane = threadIdx.x & 31;
  if (threadIdx.x < 32) {
    buffer[lane] = in[lane] * 3;
    asm volatile("bar.arrive 3, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 3, 64;" ::: "memory");
    out[lane] = buffer[31 - lane];
  }
}

extern "C" __global__ void warp_barrier(const int* in, int* out) {
  __shared__ int buffer[64];
  int t = threadIdx.x, base = t & 32;
  buffer[t] = in[t];
  __syncwarp();
  int v = buffer[base + ((t + 1) & 31)];
  __syncwarp(0xffffffffu);
  buffer[t] = v + 1;
  __syncwarp();
  out[t] = buffer[base + (31 - (t & 31))];
}
