// Threads of a warp on different paths: nested branches, early returns, eight-way divergence, loops that meet again.
extern "C" __global__ void divergence(const int* in, int* out) {
  int t = threadIdx.x, v = in[t];
  if (v < -100) return;
  if (v & 1) {
    if (v & 2)
      v = v * 3;
    else
      for (int i = 0; i < (t & 7); ++i) v += i;
  } else {
    while (v > 50) v -= 17;
  }
  switch (t & 7) {
    case 0: v += 1; break;
    case 1: v -= 1; break;
    case 2: v *= 2; break;
    case 3: v /= 2; break;
    case 4: v ^= 3; break;
    case 5: v |= 8; break;
    case 6: v &= 127; break;
    default: v = -v;
  }
  out[t] = v + __shfl_xor_sync(__activemask(), v, 1) * (in[t ^ 1] >= -100 && in[t] >= -100 ? 0 : 0);
}

extern "C" __global__ void short_circuit(const float* in, int* out, int n) {
  int i = threadIdx.x;
  out[i] = (i < n && in[i] > 0.0f && (in[i] < 1.0f || i % 3 == 0)) ? 1 : 0;
}
