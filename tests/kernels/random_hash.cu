// Counter-based random numbers: Philox 4x32 and xorshift64*.
__device__ uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    unsigned hi0 = __umulhi(0xD2511F53u, counter.x), lo0 = 0xD2511F53u * counter.x;
    unsigned hi1 = __umulhi(0xCD9E8D57u, counter.z), lo1 = 0xCD9E8D57u * counter.z;
    counter = make_uint4(hi1 ^ counter.y ^ key.x, lo1, hi0 ^ counter.w ^ key.y, lo0);
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return counter;
}

extern "C" __global__ void random_philox(uint4* out, unsigned seed) { out[threadIdx.x] = philox(make_uint4(threadIdx.x, blockIdx.x, 0, 0), make_uint2(seed, seed ^ 0x1234u)); }

extern "C" __global__ void random_xorshift(unsigned long long* state, float* out, int n) {
  unsigned long long s = state[threadIdx.x];
  for (int i = 0; i < n; ++i) {
    s ^= s >> 12;
    s ^= s << 25;
    s ^= s >> 27;
  }
  state[threadIdx.x] = s;
  out[threadIdx.x] = (float)((s * 0x2545F4914F6CDD1Dull) >> 40) * (1.0f / 16777216.0f);
}
