// printf with every kind of argument.
extern "C" __global__ void printing(const float* in, int n) {
  int t = threadIdx.x;
  if (t < n) printf("thread %d of block (%u, %u): %f %e %g\n", t, blockIdx.x, blockIdx.y, in[t], (double)in[t], in[t] * 2);
  if (t == 0) {
    printf("no argument\n");
    printf("%s has %lld, %llx, %c%%, %p\n", "text", -5ll, 0xabcdefull, 'x', (void*)0);
    printf("%5d|%-5d|%05.2f|%hd|%hhd\n", 42, 42, 3.14159, (short)-3, (char)7);
  }
}
