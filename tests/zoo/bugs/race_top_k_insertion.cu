extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ float best[4];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t < 4) best[t] = -1.f;
  __syncthreads();
  for (int k = 0; k < 4; ++k)
    if (in[t] > best[k]) {  // OTHER
      best[k] = in[t];  // BUG race
      break;
    }
  __syncthreads();
  if (i < n) out[i] = best[t % 4];
}
