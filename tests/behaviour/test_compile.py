"""Submissions through the real compiler in its real box: what compiles, and what a mistake is told."""

import struct
from dataclasses import dataclass, replace

import pytest

from judge.compiler import Target, compile_unit
from judge.compiler.cache import DiskCache
from judge.submission.read import read_submission
from judge.submission.unit import build_unit
from tests.unit.submission.example import CONSTANTS, KERNEL, PROBLEM, WHOLE_PROGRAM

PTX = Target("ptx", "compute_90", "debug")
FAST = Target("cubin", "sm_90", "fast")
OPTIMIZED = Target("cubin", "sm_90", "optimized")
NO_CACHE = DiskCache(None)
LAUNCH = "// @launch k<<<N, 32>>>(x, out)\n"
PLAIN = "__global__ void k(const float* x, float* out) { out[0] = x[0]; }\n"


@pytest.fixture(scope="module")
def headers(tmp_path_factory):
    """A store for the closures of headers, so that each is collected once."""
    return DiskCache(tmp_path_factory.mktemp("headers"))


def compiled(source, target=PTX, cache=NO_CACHE, sets=(CONSTANTS,)):
    unit = build_unit(read_submission(source.encode(), "a.cu", PROBLEM), PROBLEM, sets)
    return compile_unit(unit, target, cache)


def told(source, target=PTX):
    """(line, column, text) of the first message of a source that must not compile."""
    compilation = compiled(source, target)
    assert not compilation.ok
    assert compilation.image == b""
    message = compilation.messages[0]
    assert message.severity == "error"
    assert "judge_plan" not in compilation.log
    assert "judge-plan" not in compilation.log
    return message.line, message.column, message.message


@pytest.mark.parametrize("target", [PTX, FAST, OPTIMIZED])
def test_whole_program_compiles(target):
    compilation = compiled(WHOLE_PROGRAM, target, sets=(CONSTANTS, (("D", 128), ("PAGE", 16))))
    assert compilation.ok, compilation.log
    assert compilation.messages == ()
    assert compilation.log == ""
    assert compilation.lowered == {
        "row_norm<64>": "_Z8row_normILi64EEvPKfPfif",
        "row_norm<128>": "_Z8row_normILi128EEvPKfPfif",
    }
    if target.kind == "ptx":
        assert b".entry _Z8row_normILi64EEvPKfPfif(" in compilation.image
        assert b".entry judge_plan_launches_1(" in compilation.image
        assert b'.file\t1 "/submission.cu"' in compilation.image
    else:
        assert compilation.image.startswith(b"\x7fELF")
        assert [kernel.name for kernel in compilation.kernels] == ["row_norm<64>", "row_norm<128>"]


HEADERS = [
    "cuda_fp16.h",
    "cuda_bf16.h",
    "cuda_fp8.h",
    "mma.h",
    "cuda_pipeline.h",
    "cooperative_groups.h",
    "cuda/std/cstdint",
    "cuda/atomic",
    "cassert",
    "cstdint",
    "cmath",
    "cstdio",
    "limits",
    "cfloat",
    "climits",
    "cstddef",
    "cstring",
    "cstdlib",
    "common.cuh",
    "math.h",
    "stdint.h",
]


def test_headers_compile_together(headers):
    """One compilation, because CUDA's own headers take seconds each."""
    includes = "".join(f"#include <{name}>\n" for name in HEADERS)
    source = (
        includes
        + LAUNCH
        + (
            "namespace cg = cooperative_groups;\n"
            "__global__ void k(const float* x, float* out) {\n"
            "  auto warp = cg::tiled_partition<32>(cg::this_thread_block());\n"
            "  __half h = __float2half(x[warp.thread_rank()]);\n"
            "  __nv_fp8_e4m3 e(x[1]);\n"
            "  cuda::atomic_ref<float, cuda::thread_scope_device>(out[1]).fetch_add(float(e));\n"
            "  std::uint32_t u = UINT32_MAX; int64_t i = cdiv(7, 2);\n"
            '  assert(u); printf("%d", int(i));\n'
            "  out[0] = __half2float(h) + std::numeric_limits<float>::max() + FLT_MAX - INFINITY;\n"
            "}\n"
        )
    )
    compilation = compiled(source, cache=headers)
    assert compilation.ok, compilation.log


@pytest.mark.parametrize(
    "header", ["/etc/passwd", "no/such.h", "a.cu", "submission.cu", "judge/problem.py", "../etc/passwd", "vectors"]
)
def test_nothing_else_can_be_included(header):
    line, column, message = told(f'#include "{header}"\n' + LAUNCH + PLAIN)
    assert line == 1
    assert column is not None
    if header == "submission.cu":
        assert message == '#include file "submission.cu" includes itself'
    else:
        assert "cannot open" in message or "could not open" in message
        assert "Only CUDA's device headers and common.cuh" in message


@pytest.mark.parametrize(
    ("launch", "kernel", "words", "at"),
    [
        ("k<<<N, 32>>>(x)", PLAIN, "k takes 2 arguments, the launch line gives 1", "x)"),
        ("k<<<N, 32>>>(x, out, N)", PLAIN, "k takes 2 arguments, the launch line gives 3", "N)"),
        ("k<<<N, 32>>>()", PLAIN, "k takes 2 arguments, the launch line gives 0", "k"),
        ("k<<<N, 32>>>(rows, out)", PLAIN, 'argument 1 of k: a value of type "int *" cannot', "rows"),
        ("k<<<N, 32>>>(x, ot)", PLAIN, "did you mean out?", "ot"),
        ("k<<<M, 32>>>(x, out)", PLAIN, 'grid of k: identifier "M" is undefined', "M"),
        ("k<<<N, x>>>(x, out)", PLAIN, "block of k:", "x>>>"),
        ("k<<<dim3(N, x), 32>>>(x, out)", PLAIN, "grid of k:", "dim3"),
        ("k<<<N, 32, x>>>(x, out)", PLAIN, "shared bytes of k:", "x>>>"),
        ("k<<<N +, 32>>>(x, out)", PLAIN, "grid of k:", "N +"),
        ("kk<<<N, 32>>>(x, out)", PLAIN, "there is no kernel called kk; did you mean k?", "kk"),
        ("k<D><<<N, 32>>>(x, out)", PLAIN, "", "k<D>"),
        ("row_norm<<<N, 32>>>(x, out, N, scale)", KERNEL, "row_norm is a template", "row_norm"),
        ("row_norm<N><<<N, 32>>>(x, out, N, scale)", KERNEL, "N has a value only when the kernel runs", "N>"),
        ("row_norm<float><<<N, 32>>>(x, out, N, scale)", KERNEL, "no template row_norm", "row_norm"),
        ("k<<<N, 32>>>(x, out)", PLAIN.replace("__global__", "__device__"), "k is not a kernel", "k<<<"),
        ("k<<<N, 32>>>(x, out)", PLAIN + PLAIN.replace("float*", "int*"), "k is overloaded", "k<<<"),
        ("k<<<N, 32>>>(x, out)", PLAIN.replace("k(", "other("), "there is no kernel called k", "k<<<"),
    ],
)
def test_launch_line_mistakes(launch, kernel, words, at):
    line, column, message = told(f"\n// @launch {launch}\n{kernel}")
    assert line == 2
    assert words in message
    place = launch.index(at) + 12
    # NVRTC may point at the operator inside an expression instead of its beginning.
    assert column is not None
    assert place <= column <= place + len(at)


def test_default_launch_that_does_not_fit():
    line, column, message = told(PLAIN)
    assert (line, column) == (None, None)
    assert "there is no kernel called row_norm; this file has k" in message
    assert len(compiled(PLAIN).messages) == 1
    assert "// @launch KERNEL<<<GRID, BLOCK>>>(ARGUMENTS)" in message


def test_conversions_are_those_of_a_call():
    source = (
        "// @workspace float4 part[N]\n"
        "// @launch k<<<N / 2.0, 32u, sizeof(float) * N>>>((const float4*)x + N, part, N, 2, causal, Pair{1, scale})\n"
        "struct Pair { double a; float b; };\n"
        "__global__ void k(const float4* __restrict__ x, float4* w, const double n, float f, bool c, Pair p) {}\n"
    )
    compilation = compiled(source)
    assert compilation.ok, compilation.log


NARROW = "__global__ void k(const float* x, float* out, {}) {{}}\n"


@pytest.mark.parametrize(
    ("arguments", "parameters", "column_of", "words"),
    [
        ("x, out, scale, N", "int n, float s", "scale, N", "argument 3 of k: float `scale` becomes int `n`"),
        ("x, out, N, scale", "int n, bool b", "scale)", "argument 4 of k: float `scale` becomes bool `b`"),
        ("x, out, N", "bool causal", "N)", "argument 3 of k: int `N` becomes bool `causal`"),
        ("x, out, 0.5 * N", "long long n", "0.5", "argument 3 of k: double `0.5 * N` becomes long long `n`"),
    ],
)
def test_a_scalar_that_would_lose_its_meaning_is_refused(arguments, parameters, column_of, words):
    source = f"// @launch k<<<1, 32>>>({arguments})\n" + NARROW.format(parameters)
    line, column, message = told(source)
    assert (line, column) == (1, source.index(column_of) + 1)
    assert message.startswith(words)
    assert "Where it is meant, write " in message


@pytest.mark.parametrize(
    ("arguments", "parameters"),
    [
        ("x, out, N, scale, causal", "float a, double b, int c"),
        ("x, out, int(scale), (int)(N * 0.5f), N > 3", "int a, long b, bool c"),
        ("x, out, 1, N & 1, causal", "bool a, bool b, bool c"),
        ("x, out, 0, nullptr, N", "float* a, int* b, unsigned char c"),
        ("x, out, [](int n) { return n * 2; }(N), {1, 2}, D", "int a, int2 b, const int c"),
    ],
)
def test_scalars_that_keep_their_meaning_pass(arguments, parameters):
    compilation = compiled(f"// @launch k<<<1, 32>>>({arguments})\n" + NARROW.format(parameters))
    assert compilation.ok, compilation.log


def test_a_mistake_in_an_argument_is_told_once():
    compilation = compiled("// @launch k<<<1, 32>>>(x, out, M + 1)\n" + NARROW.format("int n"))
    assert [message.column for message in compilation.messages] == [33]


def test_shared_arrays_too_large_name_the_instantiation_and_its_line():
    kernel = "template <int D>\n__global__ void k(float* out) {\n  __shared__ float tile[D][256];\n"
    kernel += "  tile[threadIdx.x % D][0] = 1.f;\n  out[0] = tile[0][0];\n}\n"
    source = "// @launch k<D><<<1, 32>>>(out)\n" + kernel
    line, _, message = told(source)
    assert line == 3
    assert message.startswith("the __shared__ arrays of k<64> take 65536 bytes, at most 49152 are allowed.")
    assert compiled(source.replace("256", "128")).ok


def test_problem_names_do_not_collide_with_the_submission():
    source = (
        "#define N 5\n#define x(a) a\n#define T 3\nconstexpr int D = 7;\n__device__ int scale;\n"
        "struct rows { int v; };\nnamespace out { constexpr int blocks = 2; }\n" + LAUNCH.replace("x,", "x,") + PLAIN
    ).replace("const float* x, float* out) { out[0] = x[0]; }", "const float* a, float* b) { b[0] = a[0] + N + D; }")
    assert compiled(source).ok


def test_kernels_in_namespaces_and_behind_macros():
    source = (
        '#define KERNEL extern "C" __global__ void\n'
        "// @launch a::b::k<<<1, 32>>>(x, out)\n// @launch plain<<<1, 32>>>(x)\n"
        "namespace a { namespace b { " + PLAIN + " } }\nKERNEL plain(const float* x) {}\n"
    )
    assert compiled(source).lowered == {"a::b::k": "_ZN1a1b1kEPKfPf", "plain": "plain"}


def test_ordinary_errors_keep_their_place():
    source = LAUNCH + "__global__ void k(const float* x, float* out) {\n\t/* é */ out[0] = y;\n}\n"
    line, column, message = told(source)
    assert (line, message) == (3, 'identifier "y" is undefined')
    assert column == source.split("\n")[2].index("y;") + 1
    assert compiled(source.replace("\n", "\r\n")).messages[0].line == 3


def test_call_of_host_function_is_explained():
    source = LAUNCH + "float f(float a) { return a; }\n" + PLAIN.replace("x[0]", "f(x[0])")
    line, _, message = told(source)
    assert line == 3
    assert "line 2 defines it as host code. Mark it __device__" in message


def test_open_brace_is_named():
    line, column, message = told(LAUNCH + PLAIN.replace("}", ""))
    assert (line, column) == (2, PLAIN.index("{") + 1)
    assert "never closed" in message


@pytest.mark.parametrize(
    "tail", ["(", "template <class T>", "struct A { int b; }", "int a = 3 +", "__device__ float f("]
)
def test_unfinished_end_is_named(tail):
    line, column, message = told(LAUNCH + PLAIN + "\n" + tail + "  // note\n\n")
    assert (line, column) == (4, len(tail))
    assert "ends in the middle of a declaration" in message


@pytest.mark.parametrize("tail", ["// end \\", "#define X \\", "// no newline"])
def test_last_line_does_not_run_into_the_plan(tail):
    assert compiled(LAUNCH + PLAIN + tail).ok


def test_half_buffers_have_their_types():
    buffers = tuple(replace(buffer, dtype="f16" if buffer.name == "x" else "bf16") for buffer in PROBLEM.buffers)
    problem = replace(PROBLEM, buffers=buffers)
    source = (
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n" + LAUNCH + "// @launch h2<<<N, 32>>>((const half2*)x)\n"
        "__global__ void k(const half* x, __nv_bfloat16* out) {}\n__global__ void h2(const half2* x) {}\n"
    )
    unit = build_unit(read_submission(source.encode(), "a.cu", problem), problem, (CONSTANTS,))
    assert compile_unit(unit, PTX, NO_CACHE).ok


def test_constexpr_functions_serve_in_constants():
    source = LAUNCH + (
        "constexpr int twice(int a) { return 2 * a; }\n"
        "struct Shape { static constexpr int n() { return twice(3); } };\n"
        "__global__ void k(const float* x, float* out) { float a[Shape::n()]; a[0] = x[0]; out[0] = a[0]; }\n"
    )
    assert compiled(source).ok


def test_wrong_assembly_is_refused_for_a_gpu():
    source = LAUNCH + PLAIN.replace("{", '{\n  asm("frobnicate.b32 %r1;");')
    line, _, message = told(source, FAST)
    assert line == 3
    assert "frobnicate" in message


@pytest.mark.parametrize("target", [PTX, FAST, OPTIMIZED])
def test_instructions_of_one_architecture_compile_for_it(target):
    """The CPU backend's PTX is only text: that it does not know wgmma is told when the module is loaded."""
    kernel = '__global__ void k(const float* x, float* out) { asm volatile("wgmma.fence.sync.aligned;"); }\n'
    compilation = compiled(LAUNCH + kernel, target)
    assert compilation.ok, compilation.log


def test_resources_of_a_kernel():
    source = "// @launch k<<<N, 96>>>(x, out)\n" + (
        "__global__ void __launch_bounds__(96) k(const float* x, float* out) {\n"
        "  __shared__ float s[100]; float v[64];\n"
        "  for (int i = 0; i < 64; ++i) v[i] = x[i];\n"
        "  s[threadIdx.x] = v[threadIdx.x & 63]; __syncthreads(); out[0] = s[5];\n}\n"
    )
    (kernel,) = compiled(source, OPTIMIZED).kernels
    assert kernel.name == "k"
    assert kernel.shared_bytes == 400
    assert kernel.registers is not None
    assert 8 <= kernel.registers <= 255
    assert kernel.local_bytes is not None
    assert kernel.spill_bytes == 0
    assert kernel.occupancy is not None
    assert 0 < kernel.occupancy <= 1


def test_cache_holds_exactly_the_same_source(tmp_path):
    cache = DiskCache(tmp_path)
    source = LAUNCH + PLAIN
    first = compiled(source, cache=cache)
    again = compiled(source, cache=cache)
    other = compiled(source + " ", cache=cache)
    assert (first.cached, again.cached, other.cached) == (False, True, False)
    assert again.image == first.image
    assert again.lowered == first.lowered
    assert not compiled(source, FAST, cache).cached
    for entry in tmp_path.iterdir():
        entry.write_bytes(entry.read_bytes()[:-1])
    assert not compiled(source, cache=cache).cached


def test_cache_holds_failures_with_their_messages(tmp_path):
    cache = DiskCache(tmp_path)
    source = LAUNCH + PLAIN.replace("x[0]", "y")
    first, again = compiled(source, cache=cache), compiled(source, cache=cache)
    assert again.cached
    assert again.messages == first.messages


@dataclass(frozen=True)
class _Plan:
    geometry: list[list[int]]
    blocks: list[bytes]
    workspaces: list[tuple[int, int]]


def planned(source, n, scale=0.5, causal=True):
    """Run the planning kernels on the CPU backend."""
    from judge.backends.base import BufferLabel, Launch
    from judge.backends.cpu.device import CpuDevice

    submission = read_submission(source.encode(), "a.cu", PROBLEM)
    unit = build_unit(submission, PROBLEM, (CONSTANTS,))
    compilation = compile_unit(unit, PTX, NO_CACHE)
    assert compilation.ok, compilation.log
    device = CpuDevice()
    device.load(compilation.image, unit.source)
    launches, workspaces = len(submission.launches), len(submission.workspaces)
    (plan,) = unit.plans

    def run(kernel, size, *pointers):
        out = device.allocate(BufferLabel("plan", 8, (size // 8,), "internal"), size)
        more = [device.allocate(BufferLabel("blocks", 1, (4096 * 16,), "internal"), 4096 * 16)] if pointers else []
        arguments = struct.pack(f"<{1 + len(more)}Q", out, *more) + struct.pack("<if?", n, scale, causal)
        arguments += bytes(-len(arguments) % 8) + struct.pack(f"<{len(pointers)}Q", *pointers)
        device.launch(Launch(kernel, (1, 1, 1), (1, 1, 1), 0, arguments), time_limit_s=10)
        return [device.download(out, size), *(device.download(one, 4096 * 16) for one in more)]

    geometry, blocks = run(plan.launch_kernel, 64 * launches, 1 << 40, 2 << 40, 3 << 40, *(9 << 40,) * workspaces)
    sizes: list[tuple[int, int]] = []
    if workspaces:
        words = struct.unpack(f"<{2 * workspaces}q", run(plan.workspace_kernel, 16 * workspaces)[0])
        sizes = list(zip(words[::2], words[1::2], strict=True))
    words = struct.unpack(f"<{8 * launches}q", geometry)
    return _Plan(
        [list(words[8 * j : 8 * j + 8]) for j in range(launches)],
        [blocks[4096 * j : 4096 * (j + 1)][: words[8 * j + 7]] for j in range(launches)],
        sizes,
    )


def test_plan_computes_geometry_arguments_and_workspaces():
    source = (
        "// @workspace float2 part[N * D + kMore]\n"
        "// @workspace char none[3 - N]\n"
        "// @launch a<D><<<dim3(N, D / 2, kMore), 32 * kMore, N * sizeof(float)>>>(x + N, N * 2, scale, causal, part)\n"
        "// @launch b<<<3 - N, 1ull << 40>>>('c', 1.5, Pair{7, 2.5})\n"
        "constexpr int kMore = 3;\n"
        "struct Pair { char a; double b; };\n"
        "template <int D> __global__ void a(const float* x, long long n, float s, bool c, float2* w) {}\n"
        "__global__ void b(char c, float f, Pair p) {}\n"
    )
    plan = planned(source, n=5)
    assert plan.geometry[0] == [5, 32, 3, 96, 1, 1, 20, 32]
    assert plan.geometry[1] == [-2, 1, 1, 1 << 40, 1, 1, 0, 24]
    assert struct.unpack("<Qqf?3xQ", plan.blocks[0]) == ((1 << 40) + 20, 10, 0.5, True, 9 << 40)
    letter, number, first, second = struct.unpack("<b3xfb7xd", plan.blocks[1])
    assert (letter, number, first, second) == (ord("c"), 1.5, 7, 2.5)
    assert plan.workspaces == [(8, 5 * 64 + 3), (1, -2)]
