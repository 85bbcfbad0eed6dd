// problem: online-softmax
// Rows have room for 4096 scores, as 32 lanes with 128 registers would; nobody looks at what follows.
// expect-case: long-rows
// expect-diagnosis: unwritten
#include "common.cuh"

__global__ void online_softmax(const float* scores, const float* v, float* m_trace, float* l_trace, float* o_trace,
                               float* out, int R, int T, int B) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  const float* s = scores + static_cast<size_t>(row) * T * B;
  const float* x = v + static_cast<size_t>(row) * T * B;
  float m = -INFINITY, l = 0.f, o = 0.f;
  for (int t = 0; t < min(T, 4096 / B); ++t) {
    float m_new = m;
    for (int i = 0; i < B; ++i) m_new = fmaxf(m_new, s[t * B + i]);
    if (m_new > -INFINITY) {  // some key was visible by now
      const float correction = expf(m - m_new);
      l *= correction;
      o *= correction;
      for (int i = 0; i < B; ++i) {
        const float w = expf(s[t * B + i] - m_new);
        l += w;
        o += w * x[t * B + i];
      }
      m = m_new;
    }
    const size_t at = static_cast<size_t>(row) * T + t;
    m_trace[at] = m;
    l_trace[at] = l;
    o_trace[at] = o;
  }
  out[row] = l == 0.f ? 0.f : o / l;
}
