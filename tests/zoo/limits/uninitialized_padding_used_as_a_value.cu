struct Mixed { float key; double weight; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ Mixed s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  Mixed mine;
  mine.key = i < n ? in[i] : 0.f;
  mine.weight = 2.0;
  s[t] = mine;
  __syncthreads();
  int x = ((int*)&s[t])[1] & 1;  // BUG uninitialized
  if (i < n) out[i] = s[t].key + x;
}
