// memcpy and memset on the device, byte loads at odd places, an aligned struct.
struct __align__(16) Record { int id; float values[5]; char name[6]; };

extern "C" __global__ void memory_functions(const Record* in, Record* out, unsigned char* bytes, int n) {
  int t = threadIdx.x;
  if (t >= n) return;
  Record record;
  memset(&record, 0, sizeof(record));
  memcpy(&record, in + t, sizeof(int) + 3 * sizeof(float));
  record.name[t % 6] = 'x';
  memcpy(out + t, &record, sizeof(record));
  bytes[3 * t] = bytes[3 * t + 1] ^ bytes[3 * t + 2];
}
