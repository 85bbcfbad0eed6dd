// launch <<<1, 32>>> n=256
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
  wmma::fill_fragment(sum, 1.0f);
  if (threadIdx.x < 16) wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);  // BUG divergent_barrier
}
