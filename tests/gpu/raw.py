"""Small CUDA sources with their own planning kernels, straight from NVRTC to a worker.

They test the worker and the device without the reader, the planner or the compile cache between.
The case: input x, output out, n floats each; the source defines `kernel(const float*, float*, int)`.
"""

import numpy as np

from judge.backends.base import ModuleImage
from judge.problem import Role
from judge.timing.rulers import rulers_for
from judge.timing.secret import new_key
from judge.worker.messages import BufferSpec, CaseRequest, LaunchSpec, ParameterValue
from judge.worker.supervisor import Worker
from judge.worker.timing_messages import TimingRequest

PLAN = """
extern "C" __global__ void plan(long long* geometry, unsigned char* arguments, int n, float* x, float* out) {
  geometry[0] = %(grid)s; geometry[1] = 1; geometry[2] = 1;
  geometry[3] = %(block)s; geometry[4] = 1; geometry[5] = 1;
  geometry[6] = %(shared)s;
  geometry[7] = 20;
  *reinterpret_cast<const float**>(arguments) = x;
  *reinterpret_cast<float**>(arguments + 8) = out;
  *reinterpret_cast<int*>(arguments + 16) = n;
}
"""

HEAD = 'extern "C" __global__ void kernel(const float* x, float* out, int n) {\n'

DOUBLE = HEAD + "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 2.f * x[i]; }\n"


def body(text):
    return HEAD + text + "}\n"


def compile_cubin(source, arch):
    """A cubin of a self-contained source."""
    from cupy_backends.cuda.libs import nvrtc

    program = nvrtc.createProgram(source, "raw.cu", (), ())
    try:
        nvrtc.compileProgram(program, (f"--gpu-architecture={arch}", "--std=c++17"))
        return nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError as error:
        raise AssertionError(nvrtc.getProgramLog(program)) from error
    finally:
        nvrtc.destroyProgram(program)


def request(n=1000, *, bench=False, time_limit_s=5.0, timing_budget_s=1.0, arch="sm_90", signed=("x",)):
    return CaseRequest(
        name="raw",
        workspace_kernel="",
        launch_kernel="plan",
        launches=(LaunchSpec("kernel", "kernel", 3),),
        parameters=(ParameterValue("n", "int", n),),
        buffers=(
            BufferSpec("x", "f32", "float", (n,), Role.INPUT, 4),
            BufferSpec("out", "f32", "float", (n,), Role.OUTPUT, 4),
        ),
        inputs={"x": np.arange(n, dtype=np.float32)},
        time_limit_s=time_limit_s,
        timing=TimingRequest(new_key(), timing_budget_s, n, signed, rulers_for(arch)) if bench else None,
    )


def run(source, *, grid="(n + 255) / 256", block="256", shared="0", **settings):
    """Run a source in a worker of its own; (result, seconds from start of the case to its answer, worker)."""
    import time

    with Worker("cuda") as worker:
        arch = worker.ready().arch
        whole = source + PLAN % {"grid": grid, "block": block, "shared": shared}
        worker.load(ModuleImage(compile_cubin(whole, arch), whole, {}))
        began = time.monotonic()
        result = worker.run_case(request(**settings, arch=arch))
        return result, time.monotonic() - began


def doubled(result, n=1000):
    """Does the result hold 2 * x?"""
    got = np.frombuffer(result.outputs["out"], np.float32)
    return np.array_equal(got, 2 * np.arange(n, dtype=np.float32))
