// Loops with breaks, continues, gotos and trip counts that differ between threads.
extern "C" __global__ void collatz(const unsigned* in, int* steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = in[i];
  int count = 0;
  while (v > 1) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    ++count;
  }
  steps[i] = count;
}

extern "C" __global__ void nested_loops(const int* in, int* out, int n) {
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < n; ++i) {
    if (in[i] < 0) continue;
    for (int j = i;; j += t + 1) {
      if (j >= n) break;
      sum += in[j];
      if (sum > 1000) goto done;
    }
  }
  do {
    sum -= 3;
  } while (sum > 100);
done:
  out[t] = sum;
}

extern "C" __global__ void euclid(const int* a, const int* b, int* out) {
  int x = a[threadIdx.x], y = b[threadIdx.x];
  while (y) {
    int r = x % y;
    x = y;
    y = r;
  }
  out[threadIdx.x] = x;
}
