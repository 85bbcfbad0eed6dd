// launch <<<1, 32>>> n=256
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
  wmma::load_matrix_sync(a, in, 8);
  wmma::load_matrix_sync(b, in + 128, 16);
  wmma::mma_sync(sum, a, b, sum);  // BUG uninitialized
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}
