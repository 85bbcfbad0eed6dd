struct Row { float key, value, extra[2]; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  const Row* rows = (const Row*)in;
  float x = rows[i].value;  // BUG out_of_bounds
  if (i < n) out[i] = x;
}
