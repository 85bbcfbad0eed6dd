// Kernels with bounds on their block: __launch_bounds__ and a required block size; three-dimensional indices.
extern "C" __global__ void __launch_bounds__(128, 2) bounded(float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x; }
extern "C" __global__ void __launch_bounds__(256) index3d(int* out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  out[(z * gridDim.y * blockDim.y + y) * gridDim.x * blockDim.x + x] = x + 100 * y + 10000 * z;
}
extern "C" __global__ void empty() {}
