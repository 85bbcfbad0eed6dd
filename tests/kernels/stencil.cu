// A five-point stencil with a halo in shared memory; block (16, 16).
extern "C" __global__ void stencil(const float* in, float* out, int width, int height) {
  __shared__ float tile[18][18];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
  auto at = [&](int cx, int cy) { return cx >= 0 && cy >= 0 && cx < width && cy < height ? in[cy * width + cx] : 0.0f; };
  tile[ty + 1][tx + 1] = at(x, y);
  if (tx == 0) tile[ty + 1][0] = at(x - 1, y);
  if (tx == 15) tile[ty + 1][17] = at(x + 1, y);
  if (ty == 0) tile[0][tx + 1] = at(x, y - 1);
  if (ty == 15) tile[17][tx + 1] = at(x, y + 1);
  __syncthreads();
  if (x < width && y < height)
    out[y * width + x] = 0.2f * (tile[ty + 1][tx + 1] + tile[ty][tx + 1] + tile[ty + 2][tx + 1] + tile[ty + 1][tx] + tile[ty + 1][tx + 2]);
}
