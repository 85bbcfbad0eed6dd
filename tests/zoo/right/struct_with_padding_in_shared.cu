// out np.array([(64 * (k // 64) + 63 - k % 64 + 1 if 64 * (k // 64) + 63 - k % 64 < n else 0) + 2.0 for k in i])
struct Mixed { float key; double weight; char tag; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ Mixed s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  Mixed mine;
  mine.key = i < n ? in[i] : 0.f; mine.weight = 2.0; mine.tag = 1;
  s[t] = mine;
  __syncthreads();
  Mixed other = s[63 - t];
  if (i < n) out[i] = other.key + other.weight;
}
