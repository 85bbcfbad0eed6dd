// out 3.0
struct Mixed { float key; double weight; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ Mixed s;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) { s.key = in[0]; s.weight = 2.0; }
  __syncthreads();
  Mixed mine = s;
  if (i < n) out[i] = mine.key + mine.weight;
}
