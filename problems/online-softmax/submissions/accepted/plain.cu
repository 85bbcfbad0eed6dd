// problem: online-softmax
// One thread a row walks the tiles in order; the default launch. It shows the recurrence and nothing else, and what
// loads cost whose lanes are a row apart.
// Measured: H200, 256x65536: 15.5 ms, 8.8 GB/s, 0.2% of the roof; 32768x1024: 429.1 us, 655 GB/s, 14.4%.
#include "common.cuh"

__global__ void online_softmax(const float* scores, const float* v, float* m_trace, float* l_trace, float* o_trace,
                               float* out, int R, int T, int B) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  const float* s = scores + static_cast<size_t>(row) * T * B;
  const float* x = v + static_cast<size_t>(row) * T * B;
  float m = -INFINITY, l = 0.f, o = 0.f;
  for (int t = 0; t < T; ++t) {
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
