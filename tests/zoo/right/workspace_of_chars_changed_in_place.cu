// launch <<<4, 64>>> n=256
// out np.array([float(k % 64 + 1) for k in i])
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  unsigned char* bytes = (unsigned char*)ws;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  bytes[i] = t;
  __syncthreads();
  bytes[i] += 1;
  out[i] = bytes[i];
}
