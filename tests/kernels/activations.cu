// Elementwise activations: ReLU, GELU (tanh and erf), sigmoid, SiLU, softplus.
extern "C" __global__ void activations(const float* in, float* relu, float* gelu_tanh, float* gelu_erf, float* sigmoid, float* silu, float* softplus, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  relu[i] = x > 0.0f ? x : 0.0f;
  gelu_tanh[i] = 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
  gelu_erf[i] = 0.5f * x * (1.0f + erff(x * 0.70710678f));
  sigmoid[i] = 1.0f / (1.0f + expf(-x));
  silu[i] = x / (1.0f + __expf(-x));
  softplus[i] = x > 20.0f ? x : log1pf(expf(x));
}
