// __device__ variables: initialised, zero, a pointer to another, static inside a function.
struct Node { int value; Node* next; };
extern __device__ Node second;
__device__ Node first = {10, &second};
__device__ Node second = {20, nullptr};
__device__ float table[4] = {0.5f, 1.5f, 2.5f, 3.5f};
__device__ unsigned long long total;
__device__ const char* names[2] = {"alpha", "beta"};
__device__ volatile int flag = 3;

__device__ int next_ticket() {
  static int ticket = 100;
  return atomicAdd(&ticket, 1);
}

extern "C" __global__ void device_globals(float* out) {
  int t = threadIdx.x;
  if (t == 0) {
    int sum = 0;
    for (Node* node = &first; node; node = node->next) sum += node->value;
    out[0] = sum;
    out[1] = names[1][0];
    out[2] = next_ticket();
    out[3] = flag;
  }
  atomicAdd(&total, (unsigned long long)t);
  table[t & 3] += t < 4 ? 1.0f : 0.0f;
}

extern "C" __global__ void read_globals(float* out) {
  if (threadIdx.x < 4) out[threadIdx.x] = table[threadIdx.x];
  if (threadIdx.x == 4) out[4] = (float)total;
}
