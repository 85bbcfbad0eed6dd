// Device functions that take and return structs and narrow types by value, never inlined by the compiler.
struct Vec3 { float x, y, z; };
struct Big { double d; float f[5]; char c; };
struct Packed { unsigned a : 5; unsigned b : 11; int c : 16; };

__device__ __noinline__ Vec3 cross(Vec3 a, Vec3 b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
__device__ __noinline__ Big twice(Big big, int index) {
  big.d *= 2.0;
  big.f[index] += 1.0f;
  big.c += 1;
  return big;
}
__device__ __noinline__ float4 add4(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__device__ __noinline__ signed char negate(signed char value) { return -value; }
__device__ __noinline__ unsigned short half_of(unsigned short value) { return value / 2; }
__device__ __noinline__ bool is_odd(int value) { return value & 1; }
__device__ __noinline__ long long widen(short value, bool negative) { return negative ? -(long long)value : value; }
__device__ __noinline__ double2 swapped(double2 pair) { return make_double2(pair.y, pair.x); }
__device__ __noinline__ void store(float* where, float value) { *where = value; }
__device__ __noinline__ Packed pack(Packed p, int c) {
  p.c = c;
  p.a += 1;
  return p;
}

extern "C" __global__ void struct_functions(const float* in, float* out) {
  int i = threadIdx.x;
  Vec3 a = {in[i], in[i + 1], in[i + 2]}, b = {1.0f, 2.0f, 3.0f};
  Vec3 c = cross(a, b);
  Big big = {in[i], {1, 2, 3, 4, 5}, 'a'};
  big = twice(twice(big, i % 5), 2);
  float4 s = add4(make_float4(a.x, a.y, a.z, 1.0f), make_float4(c.x, c.y, c.z, 2.0f));
  double2 d = swapped(make_double2(in[i], 7.0));
  Packed p = pack(Packed{3, 100, 0}, i - 5);
  float* row = out + i * 16;
  store(row, c.x + c.y * 2 + c.z * 3);
  row[1] = (float)big.d;
  row[2] = big.f[2];
  row[3] = big.c;
  row[4] = s.x + s.y + s.z + s.w;
  row[5] = negate((signed char)(i * 20));
  row[6] = half_of((unsigned short)(i * 5000));
  row[7] = is_odd(i) ? 1.0f : -1.0f;
  row[8] = (float)widen((short)(i * 1000 - 7), is_odd(i));
  row[9] = (float)(d.x - d.y);
  row[10] = p.a;
  row[11] = p.b;
  row[12] = p.c;
  row[13] = big.f[0];
  row[14] = big.f[4];
  row[15] = 0.0f;
}
