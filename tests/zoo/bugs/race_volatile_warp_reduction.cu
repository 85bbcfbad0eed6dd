// launch <<<4, 32>>> n=128
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ volatile float s[32];
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  s[t] = in[i];
  if (t < 16) s[t] += s[t + 16];  // BUG race
  if (t < 8) s[t] += s[t + 8];  // ALSO race
  if (t < 4) s[t] += s[t + 4];  // ALSO race
  if (t < 2) s[t] += s[t + 2];  // ALSO race
  if (t < 1) s[t] += s[t + 1];  // ALSO race
  __syncthreads();
  out[i] = s[0];
}
