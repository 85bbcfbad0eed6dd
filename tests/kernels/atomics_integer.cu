// Every integer atomic on global memory, all threads on the same words; histogram in shared memory.
extern "C" __global__ void atomics_integer(const int* in, int* i, unsigned* u, unsigned long long* w, int* old, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int v = in[t];
  old[t] = atomicAdd(&i[0], v);
  atomicSub(&i[1], v);
  atomicMin(&i[2], v);
  atomicMax(&i[3], v);
  atomicAnd(&i[4], v);
  atomicOr(&i[5], v);
  atomicXor(&i[6], v);
  atomicExch(&i[7], v);
  atomicCAS(&i[8], 0, v);
  atomicInc(&u[0], 9u);
  atomicDec(&u[1], 9u);
  atomicMin(&u[2], (unsigned)v);
  atomicMax(&u[3], (unsigned)v);
  atomicAdd(&w[0], (unsigned long long)(long long)v);
  atomicMax(&w[1], (unsigned long long)v);
  atomicXor(&w[2], (unsigned long long)v << 20);
  atomicCAS(&w[3], 0ull, (unsigned long long)v);
  atomicExch(&w[4], (unsigned long long)v);
  atomicAdd_block(&i[9], 1);
  atomicAdd_system(&i[10], 1);
}

extern "C" __global__ void histogram(const unsigned char* in, unsigned* out, int n) {
  __shared__ unsigned bins[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) bins[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&out[b], bins[b]);
}
