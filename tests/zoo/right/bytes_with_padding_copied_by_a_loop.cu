// out x + 3
struct Mixed { char tag; float value; char end; };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  __shared__ Mixed s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  Mixed a;
  a.tag = 1; a.value = i < n ? in[i] : 0.f; a.end = 2;
  const char* from = (const char*)&a;
  char* to = (char*)&s[t];
  for (int k = 0; k < (int)sizeof(Mixed); ++k) to[k] = from[k];
  __syncthreads();
  if (i < n) out[i] = s[t].tag + s[t].value + s[t].end;
}
