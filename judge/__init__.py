"""Judges CUDA kernels: compiles, runs, compares with float64, and says what is wrong and where."""

__version__ = "0.1.0"
