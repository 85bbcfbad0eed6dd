// A 16 x 16 x K product by the wmma API, one warp.
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void wmma_gemm(const half* a, const half* b, float* c, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(fa, a + i, k);
    wmma::load_matrix_sync(fb, b + i, k);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= 2.0f;
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}
