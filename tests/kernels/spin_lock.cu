// A lock taken by compare-and-swap: each block adds to a counter; the threads of a warp one by one.
__device__ int mutex = 0;

extern "C" __global__ void locked_blocks(int* counter) {
  if (threadIdx.x == 0) {
    while (atomicCAS(&mutex, 0, 1) != 0) {}
    __threadfence();
    *counter += 1;
    __threadfence();
    atomicExch(&mutex, 0);
  }
}

extern "C" __global__ void locked_threads(int* lock, int* counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *(volatile int*)counter += 1;
      __threadfence();
      done = true;
      atomicExch(lock, 0);
    }
    __nanosleep(20);
  }
}
