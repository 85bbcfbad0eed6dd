// __constant__ tables with initialisers: numbers, a struct, pointers to other tables.
struct Entry { float weight; int index; const float* table; };
__constant__ float weights[5] = {1.0f, 2.5f, -3.0f, 4.0f, 0.5f};
__constant__ int squares[3][4] = {{0, 1, 4, 9}, {16, 25}, {64, 81, 100, 121}};
__constant__ Entry entries[2] = {{2.0f, 1, weights}, {3.0f, 2, weights + 2}};
__constant__ double precise = 3.141592653589793;
__constant__ unsigned char bytes[7] = {1, 2, 3, 250};
__constant__ float unset[3];

extern "C" __global__ void constant_tables(const int* in, float* out) {
  int t = threadIdx.x, i = in[t];
  Entry entry = entries[i & 1];
  out[6 * t] = weights[i % 5];
  out[6 * t + 1] = squares[i % 3][t & 3];
  out[6 * t + 2] = entry.weight * entry.table[entry.index];
  out[6 * t + 3] = (float)precise;
  out[6 * t + 4] = bytes[i % 7];
  out[6 * t + 5] = unset[i % 3];
}
