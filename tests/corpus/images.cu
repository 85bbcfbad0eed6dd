// Convolutions, pools, resizing, stencils and automata.
__constant__ float kernel3[9] = {1, 2, 1, 0, 0, 0, -1, -2, -1};

__device__ __forceinline__ float pixel(const float* x, int h, int w, int y, int c) {
  return (unsigned)y < (unsigned)h && (unsigned)c < (unsigned)w ? x[y * w + c] : 0.0f;
}

// A tile with its halo in shared memory; the taps in constant memory.
extern "C" __global__ void sobel_tile(const float* x, float* out, int h, int w) {
  __shared__ float tile[10][18];
  int top = blockIdx.y * 8 - 1, left = blockIdx.x * 16 - 1;
  for (int e = threadIdx.y * 16 + threadIdx.x; e < 180; e += 128) tile[e / 18][e % 18] = pixel(x, h, w, top + e / 18, left + e % 18);
  __syncthreads();
  int y = top + 1 + threadIdx.y, c = left + 1 + threadIdx.x;
  if (y >= h || c >= w) return;
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 9; ++k) sum += kernel3[k] * tile[threadIdx.y + k / 3][threadIdx.x + k % 3];
  out[y * w + c] = sum;
}

// Images by z, output channels by y; stride and padding as they come.
extern "C" __global__ void conv2d_direct(const float* x, const float* weight, float* out, int channels, int h, int w, int outputs, int size, int stride, int pad) {
  int oh = (h + 2 * pad - size) / stride + 1, ow = (w + 2 * pad - size) / stride + 1;
  int p = blockIdx.x * blockDim.x + threadIdx.x, o = blockIdx.y, image = blockIdx.z;
  if (p >= oh * ow) return;
  float sum = 0.0f;
  for (int c = 0; c < channels; ++c)
    for (int ky = 0; ky < size; ++ky)
      for (int kx = 0; kx < size; ++kx)
        sum += weight[((o * channels + c) * size + ky) * size + kx] *
               pixel(x + (image * channels + c) * h * w, h, w, p / ow * stride - pad + ky, p % ow * stride - pad + kx);
  out[((size_t)image * outputs + o) * oh * ow + p] = sum;
}

// Each row of the matrix is one tap of one channel.
extern "C" __global__ void im2col(const float* x, float* columns, int channels, int h, int w, int dilation) {
  int oh = h - 2 * dilation, ow = w - 2 * dilation, total = channels * 9 * oh * ow;
  for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < total; e += gridDim.x * blockDim.x) {
    int p = e % (oh * ow), tap = e / (oh * ow) % 9, c = e / (oh * ow * 9);
    columns[e] = x[(c * h + p / ow + tap / 3 * dilation) * w + p % ow + tap % 3 * dilation];
  }
}

// And back: every pixel gathers what its taps received, so nothing needs an atomic.
extern "C" __global__ void col2im(const float* columns, float* x, int channels, int h, int w) {
  int e = blockIdx.x * blockDim.x + threadIdx.x, oh = h - 2, ow = w - 2;
  if (e >= channels * h * w) return;
  int c = e / (h * w), y = e / w % h, column = e % w;
  float sum = 0.0f;
  for (int tap = 0; tap < 9; ++tap) {
    int py = y - tap / 3, px = column - tap % 3;
    if (py >= 0 && py < oh && px >= 0 && px < ow) sum += columns[((c * 9 + tap) * oh + py) * ow + px];
  }
  x[e] = sum;
}

// Winograd F(2x2, 3x3): a thread a tile of two by two, sixteen products instead of thirty-six.
extern "C" __global__ void conv_winograd(const float* x, const float* g, float* out, int h, int w) {
  int tx = blockIdx.x * blockDim.x + threadIdx.x, ty = blockIdx.y * blockDim.y + threadIdx.y;
  if (2 * ty >= h - 2 || 2 * tx >= w - 2) return;
  float u[4][3], filter[4][4], d[4][4], b[4][4], m[2][4];
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    float p = g[c], q = g[3 + c], r = g[6 + c];
    u[0][c] = p, u[1][c] = 0.5f * (p + q + r), u[2][c] = 0.5f * (p - q + r), u[3][c] = r;
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    float p = u[r][0], q = u[r][1], s = u[r][2];
    filter[r][0] = p, filter[r][1] = 0.5f * (p + q + s), filter[r][2] = 0.5f * (p - q + s), filter[r][3] = s;
    for (int c = 0; c < 4; ++c) d[r][c] = x[(2 * ty + r) * w + 2 * tx + c];
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    b[0][c] = d[0][c] - d[2][c], b[1][c] = d[1][c] + d[2][c];
    b[2][c] = d[2][c] - d[1][c], b[3][c] = d[1][c] - d[3][c];
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    float e0 = b[r][0] - b[r][2], e1 = b[r][1] + b[r][2], e2 = b[r][2] - b[r][1], e3 = b[r][1] - b[r][3];
    d[r][0] = e0 * filter[r][0], d[r][1] = e1 * filter[r][1], d[r][2] = e2 * filter[r][2], d[r][3] = e3 * filter[r][3];
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) m[0][c] = d[0][c] + d[1][c] + d[2][c], m[1][c] = d[1][c] - d[2][c] - d[3][c];
  for (int r = 0; r < 2; ++r) {
    float* row = out + (2 * ty + r) * (w - 2) + 2 * tx;
    row[0] = m[r][0] + m[r][1] + m[r][2], row[1] = m[r][1] - m[r][2] - m[r][3];
  }
}

// Channels last, four at a time.
extern "C" __global__ void conv_depthwise(const float4* x, const float4* weight, float4* out, int h, int w, int quads) {
  int q = threadIdx.x, column = blockIdx.x, y = blockIdx.y;
  float4 sum = {};
  for (int k = 0; k < 9; ++k) {
    int py = y + k / 3 - 1, px = column + k % 3 - 1;
    if (py < 0 || py >= h || px < 0 || px >= w) continue;
    float4 a = x[(py * w + px) * quads + q], b = weight[k * quads + q];
    sum.x += a.x * b.x, sum.y += a.y * b.y, sum.z += a.z * b.z, sum.w += a.w * b.w;
  }
  out[(y * w + column) * quads + q] = sum;
}

extern "C" __global__ void max_pool(const float* x, float* out, signed char* where, int h, int w) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, plane = blockIdx.z;
  int oh = (h + 1) / 2, ow = (w + 1) / 2;
  if (c >= ow || y >= oh) return;
  float best = -INFINITY;
  signed char place = -1;
  for (int k = 0; k < 4; ++k) {
    int py = 2 * y + (k >> 1), px = 2 * c + (k & 1);
    if (py < h && px < w) {
      float v = x[(plane * h + py) * w + px];
      if (v > best) best = v, place = k;
    }
  }
  out[(plane * oh + y) * ow + c] = best, where[(plane * oh + y) * ow + c] = place;
}

// Windows of unequal size that cover the image; a warp a window.
extern "C" __global__ void average_pool_adaptive(const float* x, float* out, int h, int w, int oh, int ow) {
  int cell = blockIdx.x * blockDim.y + threadIdx.y;
  if (cell >= oh * ow) return;
  int y = cell / ow, c = cell % ow, y0 = y * h / oh, y1 = ((y + 1) * h + oh - 1) / oh;
  int x0 = c * w / ow, x1 = ((c + 1) * w + ow - 1) / ow, wide = x1 - x0, count = wide * (y1 - y0);
  float sum = 0.0f;
  for (int e = threadIdx.x; e < count; e += 32) sum += x[(y0 + e / wide) * w + x0 + e % wide];
  for (int d = 1; d < 32; d *= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) out[cell] = sum / count;
}

extern "C" __global__ void resize_bilinear(const uchar4* x, uchar4* out, int h, int w, int oh, int ow) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (c >= ow) return;
  float fy = fmaxf(0.0f, (y + 0.5f) * h / oh - 0.5f), fx = fmaxf(0.0f, (c + 0.5f) * w / ow - 0.5f);
  int y0 = __float2int_rd(fy), x0 = __float2int_rd(fx), y1 = min(y0 + 1, h - 1), x1 = min(x0 + 1, w - 1);
  float ty = fy - y0, tx = fx - x0;
  uchar4 a = x[y0 * w + x0], b = x[y0 * w + x1], d = x[y1 * w + x0], e = x[y1 * w + x1];
  auto mix = [=](float p, float q, float r, float s) {
    return (unsigned char)__float2uint_rn((p * (1 - tx) + q * tx) * (1 - ty) + (r * (1 - tx) + s * tx) * ty);
  };
  out[y * ow + c] = make_uchar4(mix(a.x, b.x, d.x, e.x), mix(a.y, b.y, d.y, e.y), mix(a.z, b.z, d.z, e.z), mix(a.w, b.w, d.w, e.w));
}

// A plane in shared memory walks through the depth; what lies before and behind stays in registers.
extern "C" __global__ void stencil_3d(const float* x, float* out, int n) {
  __shared__ float plane[10][10];
  int c = threadIdx.x, r = threadIdx.y;
  auto at = [&](int z) { return x[(z * 10 + r) * 10 + c]; };
  float before = at(0), here = at(1), behind;
  for (int z = 1; z < n - 1; ++z) {
    behind = at(z + 1);
    plane[r][c] = here;
    __syncthreads();
    if (c > 0 && c < 9 && r > 0 && r < 9)
      out[(z * 10 + r) * 10 + c] = plane[r - 1][c] + plane[r + 1][c] + plane[r][c - 1] + plane[r][c + 1] + before + behind - 6.0f * here;
    __syncthreads();
    before = here, here = behind;
  }
}

// Sweeps in shared memory until the largest change is small; the threads agree on when to stop.
extern "C" __global__ void jacobi_until(float* x, int* sweeps, float tolerance) {
  __shared__ float grids[2][12][12];
  int c = threadIdx.x, r = threadIdx.y, now = 0, done = 0;
  grids[0][r][c] = grids[1][r][c] = x[r * 12 + c];
  bool inner = c > 0 && c < 11 && r > 0 && r < 11, moved;
  __syncthreads();
  do {
    float old = grids[now][r][c], next = old;
    if (inner) next = 0.25f * (grids[now][r - 1][c] + grids[now][r + 1][c] + grids[now][r][c - 1] + grids[now][r][c + 1]);
    grids[now ^ 1][r][c] = next;
    moved = fabsf(next - old) > tolerance;
    now ^= 1, ++done;
  } while (__syncthreads_or(moved));
  x[r * 12 + c] = grids[now][r][c];
  if (c == 0 && r == 0) *sweeps = done;
}

// 32 cells a word: neighbors are counted by adders of bits, on a torus.
extern "C" __global__ void life_bits(const unsigned* x, unsigned* out, int rows) {
  int r = threadIdx.x;
  if (r >= rows) return;
  unsigned ones = 0, twos = 0, fours = 0;
  for (int k = 0; k < 9; ++k) {
    if (k == 4) continue;
    unsigned row = x[(r + k / 3 - 1 + rows) % rows];
    unsigned v = k % 3 == 1 ? row : k % 3 == 0 ? __funnelshift_l(row, row, 1) : __funnelshift_r(row, row, 1);
    unsigned carry = ones & v, more = twos & carry;
    ones ^= v, twos ^= carry, fours |= more;
  }
  out[r] = twos & ~fours & (ones | x[r]);
}
