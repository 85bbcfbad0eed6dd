// The four shuffles with widths, variable distances, 64-bit values and a part of the warp.
extern "C" __global__ void shuffles(const int* in, int* out) {
  int t = threadIdx.x, v = in[t];
  int* row = out + t * 8;
  row[0] = __shfl_sync(~0u, v, 5);
  row[1] = __shfl_sync(~0u, v, t + 3, 8);
  row[2] = __shfl_up_sync(~0u, v, 2);
  row[3] = __shfl_up_sync(~0u, v, 1, 16);
  row[4] = __shfl_down_sync(~0u, v, 3, 4);
  row[5] = __shfl_xor_sync(~0u, v, 9);
  row[6] = __shfl_xor_sync(~0u, v, 1, 2);
  row[7] = -1;
  if (t < 16) row[7] = __shfl_down_sync(0x0000ffffu, v, t & 3, 16);
}

extern "C" __global__ void shuffle_double(const double* in, double* out, unsigned long long* wide) {
  int t = threadIdx.x;
  out[t] = __shfl_xor_sync(~0u, in[t], 16) + __shfl_sync(~0u, in[t], t / 2);
  wide[t] = __shfl_down_sync(~0u, (unsigned long long)t << 40 | t, 1);
}
