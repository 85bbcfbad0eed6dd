// A dense switch, which the optimiser makes a table of branches, and a sparse one.
extern "C" __global__ void switch_dense(const int* opcode, const int* in, int* out) {
  int t = threadIdx.x, v = in[t];
  switch (opcode[t]) {
    case 0: v = v * v + out[t]; break;
    case 1: out[t + 64] = v; v += 7; break;
    case 2: v = __popc(v); break;
    case 3: v ^= 0x55; out[t + 64] = v; break;
    case 4: v = v / 3; break;
    case 5: v = in[t + 1] - v;  // falls through
    case 6: v = -v; break;
    case 7: v = v << (t & 7); break;
    case 8: v = in[v & 31]; break;
    case 9: return;
    default: v = -1;
  }
  out[t] = v;
}

extern "C" __global__ void switch_sparse(const int* in, int* out) {
  switch (in[threadIdx.x]) {
    case -1000: out[threadIdx.x] = 1; break;
    case 0: out[threadIdx.x] = 2; break;
    case 77777: out[threadIdx.x] = 3; break;
    default: out[threadIdx.x] = 4;
  }
}
