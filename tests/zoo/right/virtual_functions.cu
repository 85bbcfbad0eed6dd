// out np.where(i % 3 == 0, x * x, x + 1)
struct Shape { __device__ virtual float area(float x) const = 0; };
struct Square : Shape { __device__ float area(float x) const override { return x * x; } };
struct Line : Shape { __device__ float area(float x) const override { return x + 1; } };
extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  Square square;
  Line line;
  const Shape& shape = i % 3 == 0 ? (const Shape&)square : (const Shape&)line;
  if (i < n) out[i] = shape.area(in[i]);
}
