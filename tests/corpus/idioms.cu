// Idioms of C++ that kernels use: classes, functions by value and by address, packs, folds, and votes of a block.
struct Activation {
  __device__ virtual float operator()(float v) const = 0;
  __device__ virtual float slope(float) const { return 1.0f; }
};

struct Leaky final : Activation {
  float share;
  __device__ explicit Leaky(float s) : share(s) {}
  __device__ float operator()(float v) const override { return v > 0 ? v : share * v; }
  __device__ float slope(float v) const override { return v > 0 ? 1.0f : share; }
};

struct Square final : Activation {
  __device__ float operator()(float v) const override { return v * v; }
};

extern "C" __global__ void virtual_calls(const float* x, float2* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  Leaky leaky(0.1f);
  Square square;
  const Activation* chosen = i % 2 ? static_cast<const Activation*>(&leaky) : &square;
  out[i] = make_float2((*chosen)(x[i]), chosen->slope(x[i]));
}

__device__ float plus(float a, float b) { return a + b; }
__device__ float times(float a, float b) { return a * b; }
__device__ float larger(float a, float b) { return fmaxf(a, b); }

typedef float (*Binary)(float, float);
__device__ Binary operations[3] = {plus, times, larger};

// The operation comes from a table of addresses, one a block.
extern "C" __global__ void reduce_by_table(const float* x, float* out) {
  Binary f = operations[blockIdx.x % 3];
  float v = x[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v = f(v, __shfl_xor_sync(~0u, v, d));
  if (threadIdx.x == 0) out[blockIdx.x] = v;
}

template <typename... T>
__device__ auto total(T... parts) { return (... + parts); }

template <int First, int... Rest>
struct Polynomial {
  __device__ static int at(int x) {
    if constexpr (sizeof...(Rest) == 0) return First;
    else return First + x * Polynomial<Rest...>::at(x);
  }
};

__host__ __device__ constexpr int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void packs_and_folds(const int* x, long long* out) {
  constexpr int lucky = fibonacci(12);
  int v = x[threadIdx.x];
  out[threadIdx.x] = total(v, Polynomial<7, -3, 0, 2>::at(v), (long long)lucky, threadIdx.x * 2u);
}

template <typename T, int N>
class Ring {
  T items[N];
  int head = 0;

 public:
  __device__ void push(T v) { items[head++ % N] = v; }
  __device__ T operator[](int back) const { return items[(head - 1 - back) % N]; }
  struct Cursor {
    const Ring* ring;
    int back;
    __device__ T operator*() const { return (*ring)[back]; }
    __device__ Cursor& operator++() { return --back, *this; }
    __device__ bool operator!=(const Cursor& o) const { return back != o.back; }
  };
  __device__ Cursor begin() const { return {this, N - 1}; }
  __device__ Cursor end() const { return {this, -1}; }
};

// A moving sum over a ring in local memory, walked by a range-based loop.
extern "C" __global__ void moving_sum(const short* x, int* out, int n) {
  Ring<short, 5> ring;
  x += threadIdx.x * n, out += threadIdx.x * n;
  for (int k = 0; k < 5; ++k) ring.push(0);
  for (int i = 0; i < n; ++i) {
    ring.push(x[i]);
    int sum = 0;
    for (short v : ring) sum += v;
    out[i] = sum;
  }
}

struct Box {
  float low[3], high[3];
  int id;
};

struct Ray { float3 from, along; };

// Structs by value, early exits and a nearest hit; misses give -1.
extern "C" __launch_bounds__(64, 2) __global__ void nearest_box(const Box* boxes, const Ray* rays, int* out, int count) {
  Ray ray = rays[threadIdx.x];
  const float from[3] = {ray.from.x, ray.from.y, ray.from.z}, along[3] = {ray.along.x, ray.along.y, ray.along.z};
  float best = 1e30f;
  int hit = -1;
  for (int b = 0; b < count; ++b) {
    Box box = boxes[b];
    float enter = 0.0f, leave = best;
    for (int axis = 0; axis < 3; ++axis) {
      float inverse = __frcp_rn(along[axis]), p = (box.low[axis] - from[axis]) * inverse, q = (box.high[axis] - from[axis]) * inverse;
      enter = fmaxf(enter, fminf(p, q)), leave = fminf(leave, fmaxf(p, q));
      if (enter > leave) goto missed;
    }
    best = enter, hit = box.id;
  missed:;
  }
  out[threadIdx.x] = hit;
}

// What a block and a warp can agree on.
extern "C" __global__ void votes(const int* x, int* out) {
  int v = x[blockIdx.x * blockDim.x + threadIdx.x], same;
  int some = __syncthreads_or(v > 90), all = __syncthreads_and(v >= 0), count = __syncthreads_count(v % 2 == 0);
  int any = __any_sync(~0u, v == 50), every = __all_sync(~0u, v < 95);
  unsigned alike = __match_all_sync(~0u, v / 200, &same);
  if (threadIdx.x % 32 == 0) {
    int* row = out + (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 7;
    row[0] = some != 0, row[1] = all != 0, row[2] = count, row[3] = any != 0, row[4] = every != 0, row[5] = alike, row[6] = same;
  }
}

// Three dimensions of threads and blocks, seen from special registers.
extern "C" __global__ void places(int* out, int3 size) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= size.x || y >= size.y || z >= size.z) return;
  unsigned lane, warps, id;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%nctaid.z;" : "=r"(warps));
  asm("{ .reg .u32 a, b; mov.u32 a, %%ctaid.x; mov.u32 b, %%nctaid.x; mad.lo.u32 %0, b, 100, a; }" : "=r"(id));
  out[(z * size.y + y) * size.x + x] = lane * 1000000 + warps * 100000 + id;
}

// Records of odd size, copied whole; arrays of arrays in shared memory, taken by reference.
struct __align__(8) Record {
  double key;
  unsigned char tag[3];
  short count;
};

__device__ void swap_rows(Record (&a)[8], Record (&b)[8], int i) {
  Record kept = a[i];
  a[i] = b[i], b[i] = kept;
}

extern "C" __global__ void records(const Record* x, Record* out) {
  __shared__ Record rows[4][8];
  int r = threadIdx.x / 8, c = threadIdx.x % 8;
  rows[r][c] = x[threadIdx.x];
  __syncthreads();
  if (r < 2) swap_rows(rows[r], rows[3 - r], c);
  __syncthreads();
  Record mine = rows[r][c];
  mine.key *= 2, mine.count += mine.tag[0] * mine.tag[2];
  out[threadIdx.x] = mine;
}

// Atomics in a loop of compare-and-swap on 64 bits: the nearest point with its number, packed as one word.
extern "C" __global__ void nearest_packed(const float2* points, unsigned long long* best, float2 to, int n) {
  __shared__ unsigned long long own;
  if (threadIdx.x == 0) own = ~0ull;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float dx = points[i].x - to.x, dy = points[i].y - to.y;
    unsigned long long word = (unsigned long long)__float_as_uint(dx * dx + dy * dy) << 32 | i, seen = ~0ull;
    while (word < seen) {
      unsigned long long old = atomicCAS(&own, seen, word);
      if (old == seen) break;
      seen = old;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicMin(best, own);
}

// A queue of work that grows while it is eaten: Collatz steps until every number is 1.
extern "C" __global__ void work_queue(const unsigned* x, int* steps, int n) {
  __shared__ uint2 queue[2][64];
  __shared__ int size[3];
  int t = threadIdx.x;
  if (t < n) queue[0][t] = make_uint2(x[t], t);
  if (t == 0) size[0] = n, size[1] = 0;
  __syncthreads();
  for (int round = 0; size[round % 3] > 0; ++round) {
    if (t == 0) size[(round + 2) % 3] = 0;
    if (t < size[round % 3]) {
      uint2 item = queue[round & 1][t];
      if (item.x == 1) steps[item.y] = round;
      else queue[round & 1 ^ 1][atomicAdd(&size[(round + 1) % 3], 1)] = make_uint2(item.x & 1 ? 3 * item.x + 1 : item.x / 2, item.y);
    }
    __syncthreads();
  }
}
