// Dynamic shared memory, behind a static array, cut into parts of two types; the same block under another type.
extern __shared__ float pool[];
extern __shared__ double pool64[];

extern "C" __global__ void reverse_dynamic(const float* in, float* out, int n) {
  __shared__ int shift;
  int* order = (int*)(pool + n);
  int t = threadIdx.x;
  if (t == 0) shift = 1;
  pool[t] = in[t];
  order[t] = n - 1 - t;
  __syncthreads();
  out[t] = pool[order[t]] + shift;
}

extern "C" __global__ void rotate_double(const double* in, double* out) {
  pool64[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = pool64[(threadIdx.x + 1) % blockDim.x];
}

template <typename T>
__device__ T* dynamic() {
  extern __shared__ __align__(128) unsigned char raw[];
  return reinterpret_cast<T*>(raw);
}

extern "C" __global__ void aligned_dynamic(int* out) {
  int* words = dynamic<int>();
  words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = words[threadIdx.x ^ 1];
}
