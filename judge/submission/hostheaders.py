"""Headers of the host that a device source can do without; their includes are set aside.

Everything else stays an include: it resolves to one of CUDA's device headers or one of the judge's
own, or the compiler says that there is no such file.
"""

_C_AND_POSIX = ["assert", "ctype", "errno", "fenv", "inttypes", "locale", "math", "setjmp", "signal", "stdarg", "stdio", "stdlib", "string", "time", "wchar", "unistd", "sys/time", "sys/types", "sys/stat", "fcntl", "pthread", "getopt", "windows", "omp", "mpi"]

_CPP = ["algorithm", "any", "array", "bitset", "charconv", "chrono", "clocale", "complex", "condition_variable", "csetjmp", "csignal", "cstdarg", "ctime", "cwchar", "deque", "exception", "execution", "filesystem", "format", "forward_list", "fstream", "functional", "future", "initializer_list", "iomanip", "ios", "iosfwd", "iostream", "istream", "iterator", "list", "locale", "map", "memory", "memory_resource", "mutex", "new", "numeric", "optional", "ostream", "queue", "random", "ratio", "regex", "semaphore", "set", "shared_mutex", "span", "sstream", "stack", "stdexcept", "streambuf", "string", "string_view", "syncstream", "system_error", "thread", "tuple", "typeindex", "typeinfo", "unordered_map", "unordered_set", "utility", "valarray", "variant", "vector", "version", "bits/stdc++.h", "cctype", "cerrno", "cfenv", "cinttypes", "clocale", "cstdlib", "numbers", "ranges", "concepts"]

_CUDA_HOST = ["cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "cuda_profiler_api.h", "device_launch_parameters.h", "nvrtc.h", "cublas.h", "cublas_v2.h", "cublasLt.h", "cudnn.h", "curand.h", "cusparse.h", "cusolverDn.h", "cufft.h", "nvml.h", "nvToolsExt.h", "nvtx3/nvToolsExt.h", "helper_cuda.h", "helper_functions.h", "helper_timer.h", "thrust/host_vector.h", "thrust/device_vector.h", "thrust/copy.h", "thrust/fill.h", "thrust/sort.h", "thrust/reduce.h", "thrust/sequence.h"]

# These exist for device code as well, as the judge's own short headers.
_DEVICE_TOO = frozenset({"assert", "math", "stdio", "string", "stdlib"})

_HOST = frozenset([*(f"{name}.h" for name in _C_AND_POSIX if name not in _DEVICE_TOO), *_CPP, *_CUDA_HOST])


def is_host_header(name: str) -> bool:
    """name: as written between the brackets or quotes of an #include."""
    return name in _HOST
