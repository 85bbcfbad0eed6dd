struct Row { float key[2]; float value[2]; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ Row row;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t < 2) { row.key[t] = in[t]; row.value[t] = in[t]; }
  __syncthreads();
  float x = row.key[t % 4];  // BUG out_of_bounds
  if (i < n) out[i] = x;
}
