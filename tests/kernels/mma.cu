// Tensor-core instructions by inline PTX: ldmatrix and mma.sync.m16n8k16, half in and float out, one warp.
#include <cuda_fp16.h>

extern "C" __global__ void mma_m16n8k16(const __half* a, const __half* b, float* c) {
  __shared__ __align__(16) __half as[16 * 16], bs[16 * 8];
  int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) as[i] = a[i];
  for (int i = lane; i < 128; i += 32) bs[i] = b[i];
  __syncwarp();
  unsigned ra[4], rb[2];
  unsigned from_a = (unsigned)__cvta_generic_to_shared(&as[(lane % 16) * 16 + (lane / 16) * 8]);
  unsigned from_b = (unsigned)__cvta_generic_to_shared(&bs[(lane % 16) * 8]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(from_a));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(from_b));
  float d[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  int row = lane / 4, col = lane % 4 * 2;
  c[row * 8 + col] = d[0];
  c[row * 8 + col + 1] = d[1];
  c[(row + 8) * 8 + col] = d[2];
  c[(row + 8) * 8 + col + 1] = d[3];
}
