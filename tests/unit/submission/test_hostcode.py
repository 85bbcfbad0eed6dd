"""What of a pasted program stays and what is set aside."""

import pytest

from judge.submission.comments import code_only, comments_of
from judge.submission.hostcode import separate
from tests.unit.submission.example import WHOLE_PROGRAM


def test_whole_program():
    host = separate(WHOLE_PROGRAM)
    assert [definition.name for definition in host.kernels] == ["row_norm"]
    assert [name for name, _ in host.host_names] == [
        "generator",
        "failures",
        "Stopwatch",
        "norm_cpu",
        "norm_cpu",
        "time_ms",
        "main",
    ]
    lines = WHOLE_PROGRAM.split("\n")
    main_at = lines.index("int main() {") + 1
    assert f"lines {main_at}-{len(lines) - 1}: main" in host.set_aside
    assert host.set_aside[0] == "line 2: #include <cuda_runtime.h>"
    assert "lines 4-5: #include <vector>, <random>" in host.set_aside


def test_lines_and_columns_stay():
    host = separate(WHOLE_PROGRAM)
    for before, after in zip(WHOLE_PROGRAM.split("\n"), host.device_source.split("\n"), strict=True):
        assert len(before) == len(after)
        assert all(a in (b, " ") for b, a in zip(before, after, strict=True))


@pytest.mark.parametrize(
    "kept",
    [
        "__device__ float f(float a) { return a; }",
        "__host__ __device__ float f(float a) { return a; }",
        "static __device__ __forceinline__ int f() { return 1; }",
        "template <class T> __device__ T f(T a) { return a; }",
        "__global__ void k(float* x) { x[0] = 1; }",
        'extern "C" __global__ void k(float* x) { x[0] = 1; }',
        'extern "C" { __global__ void k(float* x) { x[0] = 1; } }',
        "namespace a { namespace { __global__ void k(float* x) { x[0] = 1; } } }",
        "struct P { float a; int b; };",
        "struct P { float a; __device__ float f() const { return a; } };",
        "template <int N> struct Tile { float v[N]; };",
        "using half4 = P4<float>;",
        "typedef float row[4];",
        "enum class Kind { a, b };",
        "constexpr int n = 4;",
        "const float scale = 2.f;",
        "__constant__ float table[3] = {1, 2, 3};",
        "__device__ int counter;",
        "extern __shared__ float s[];",
        "using namespace cooperative_groups;",
        "namespace cg = cooperative_groups;",
        "#define N 5",
        "#pragma once",
        "#include <cuda_fp16.h>",
        "#include <cstdint>",
        '#include "common.cuh"',
        '#include "no/such.h"',
        "static_assert(sizeof(int) == 4);",
        "template <int D> constexpr int rows = 64 / D;",
        "#define KERNEL(name) __global__ void name(float* x)\nKERNEL(k) { x[0] = 1; }",
        "#define HD __host__ __device__\nHD float f(float a) { return a; }",
        "#define MARK __device__\n#define FAST MARK __forceinline__\nFAST float f(float a) { return a; }",
        "struct P { float a; float f() const; };\n__device__ float P::f() const { return a; }",
        "template <> __global__ void k<3>(float* x) { x[0] = 1; }",
        "template __global__ void k<3>(float* x);",
    ],
)
def test_device_code_stays(kept):
    host = separate(kept + "\n")
    assert host.device_source == kept + "\n"
    assert host.set_aside == ()


@pytest.mark.parametrize(
    ("source", "aside"),
    [
        ("int main() { return 0; }", "line 1: main"),
        ("float f(float a) {\n  return a;\n}", "lines 1-3: f"),
        ("static inline float* f(float* a) { return a; }", "line 1: f"),
        ("template <class F> void each(F f) { f(); }", "line 1: each"),
        ("__host__ void f() {}", "line 1: f"),
        ("void f(int a);", "line 1: f"),
        ("std::vector<float> data;", "line 1: data"),
        ("static int calls = 0;", "line 1: calls"),
        ("using Clock = std::chrono::steady_clock;", "line 1: Clock"),
        ("struct T { cudaEvent_t e; };", "line 1: T"),
        ("struct T { int n; int next() { return rand(); } };", "line 1: T"),
        ("#include <iostream>", "line 1: #include <iostream>"),
        ("namespace a { int helper() { return 1; } }", "line 1: helper"),
        ("#ifdef TEST\nint main() {\n}\n#endif", "lines 2-3: main"),
    ],
)
def test_host_code_goes(source, aside):
    host = separate(source + "\n")
    assert host.set_aside == (aside,)
    assert host.device_source.count("\n") == source.count("\n") + 1


def test_host_like_type_that_a_kernel_uses_stays():
    source = "struct T { float v; float get() { return v; } };\n__global__ void k(T t, float* x) { x[0] = t.v; }\n"
    assert separate(source).device_source == source


def test_constexpr_function_is_marked_without_moving_a_column():
    source = "constexpr int twice(int a) { return 2 * a; }\nstruct S { static constexpr int n() { return 3; } };\n"
    host = separate(source)
    assert host.device_source == source.replace("constexpr", "constexp_")
    assert separate("__device__ constexpr int f() { return 1; }").device_source.startswith("__device__ constexpr")


def test_multibyte_characters_keep_their_columns():
    source = 'void f() { puts("é漢"); } __device__ int after;\n'
    assert separate(source).device_source.index("__device__") == source.index("__device__")


def test_source_that_does_not_parse_keeps_its_kernels():
    source = "__global__ void k(float* x) { x[0] = ; }}} int\nint main() { return 0; }\n"
    assert "x[0] = ;" in separate(source).device_source


def test_comments():
    source = 'a // one\n/* two\n three */ b "// no" \'x\' R"(// no)" 1\'000 // four \\\n more\n'
    found = comments_of(source)
    assert [(c.text.split()[1], c.line, c.column) for c in found] == [("one", 1, 3), ("two", 2, 1), ("four", 3, 42)]
    code = code_only(source)
    assert len(code) == len(source)
    assert code.split() == ["a", "b", "1'000"]


def test_unfinished_literals_end_with_their_line():
    assert [c.text for c in comments_of("#error don't\n// @launch\n\"open\n// two")] == ["// @launch", "// two"]


@pytest.mark.parametrize(
    ("source", "line", "parameters"),
    [
        ("__global__ void k(const float* __restrict__ q, int N, bool causal, float) {}", 1, ("q", "N", "causal", "")),
        ("template <int D>\n__global__ void __launch_bounds__(64)\nk(const float* Q, float s = 2.f) {}", 3, ("Q", "s")),
        ('extern "C" __global__ void k() {}', 1, ()),
    ],
)
def test_kernels_are_known_with_their_line_and_parameters(source, line, parameters):
    [kernel] = separate(source).kernels
    assert (kernel.name, kernel.line, kernel.parameters) == ("k", line, parameters)
