"""A CUDA worker against kernels that do everything wrong: exact verdicts, bounded time, clean successors."""

import time

import numpy as np
import pytest

from judge.backends.base import ModuleImage
from judge.records import DiagnosisKind
from judge.verdict import Verdict
from judge.worker.session import Session
from judge.worker.supervisor import Worker
from tests.gpu.raw import DOUBLE, HEAD, PLAN, body, compile_cubin, doubled, request, run


def test_a_right_kernel_gives_its_output():
    result, _ = run(DOUBLE)
    assert result.verdict is None, result.message
    assert doubled(result)
    assert result.launches[0].grid == (4, 1, 1)


def test_a_worker_is_warm_in_a_few_seconds_and_a_small_case_takes_milliseconds():
    began = time.monotonic()
    with Worker("cuda") as worker:
        properties = worker.ready()
        warm = time.monotonic() - began
        source = DOUBLE + PLAN % {"grid": "4", "block": "256", "shared": "0"}
        worker.load(ModuleImage(compile_cubin(source, properties.arch), source, {}))
        times = []
        for _ in range(10):
            began = time.monotonic()
            assert doubled(worker.run_case(request()))
            times.append(time.monotonic() - began)
    print(f"\n{properties.name}: warm after {warm:.2f} s, a case {1e3 * sorted(times)[5]:.1f} ms")
    assert warm < 20
    assert sorted(times)[5] < 0.25


ENDLESS = body("volatile float* o = out; while (o[0] != 12345.f) { o[1] = 1.f; }")


def test_an_endless_kernel_ends_at_its_limit_and_the_next_submission_is_fine():
    result, seconds = run(ENDLESS, time_limit_s=1.0)
    assert result.verdict is Verdict.TIME_LIMIT, result.message
    assert result.message.startswith("the kernel did not end within 1 s and was killed"), result.message
    assert 1.0 <= seconds < 2.5
    began = time.monotonic()
    after, _ = run(DOUBLE)
    print(f"\nkilled after {seconds:.2f} s, the next one took {time.monotonic() - began:.2f} s in all")
    assert doubled(after)


@pytest.mark.parametrize(
    ("name", "text", "kinds"),
    [
        ("far store", "out[1ll << 38] = 1.f;", {DiagnosisKind.OUT_OF_BOUNDS}),
        ("null store", "*(volatile float*)nullptr = 1.f;", {DiagnosisKind.OUT_OF_BOUNDS}),
        ("far load", "out[0] = x[1ll << 38];", {DiagnosisKind.OUT_OF_BOUNDS}),
        ("trap", "__trap();", {DiagnosisKind.TRAP}),
        ("misaligned", "*(volatile double*)((char*)out + 4) = 1.0;", {DiagnosisKind.MISALIGNED}),
        (
            "misaligned vector",
            "float4 v = *(const float4*)(x + 1); out[0] = v.x + v.y;",
            {DiagnosisKind.MISALIGNED},
        ),
        (
            "shared out of bounds",
            "__shared__ float s[32]; volatile float* p = s; p[n * 100000] = 1.f; out[0] = p[0];",
            {DiagnosisKind.TRAP, DiagnosisKind.OUT_OF_BOUNDS},
        ),
    ],
)
def test_a_fault_has_its_kind_and_does_not_touch_the_next_submission(name, text, kinds):
    result, seconds = run(body(text))
    print(f"\n{name}: {result.verdict} {result.message} ({seconds:.2f} s)")
    assert result.verdict is Verdict.RUNTIME_ERROR, result.message
    assert result.fatal
    assert {diagnosis.kind for diagnosis in result.diagnoses} <= kinds
    assert result.diagnoses
    assert doubled(run(DOUBLE)[0])


def test_a_failed_assert_is_named():
    source = body('if (x[0] == 0.f) __assertfail("x[0] != 0", "raw.cu", 2, "kernel", 1);')
    result, _ = run(source)
    assert result.verdict is Verdict.RUNTIME_ERROR, result.message
    assert [diagnosis.kind for diagnosis in result.diagnoses] == [DiagnosisKind.ASSERT]


@pytest.mark.parametrize(
    ("text", "buffer", "index"),
    [
        ("if (i < n) out[i] = 2.f * x[i]; if (i == 0) out[n] = 7.f;", "out", (1000,)),
        ("if (i < n) out[i] = 2.f * x[i]; if (i == 0) out[-1] = 7.f;", "out", (-1,)),
        (
            "if (i <= n) ((float*)x)[i == n ? n + 3 : 0] = i == n ? 7.f : x[0]; if (i < n) out[i] = 2.f * x[i];",
            "x",
            (1003,),
        ),
    ],
)
def test_a_write_beside_a_buffer_is_seen_in_its_guard_zone(text, buffer, index):
    result, _ = run(body("int i = blockIdx.x * blockDim.x + threadIdx.x; " + text))
    assert result.verdict is Verdict.UNDEFINED_BEHAVIOR, result.message
    found = [(d.buffer, d.index) for d in result.diagnoses if d.kind is DiagnosisKind.GUARD_OVERWRITTEN]
    assert found == [(buffer, index)]


def test_a_changed_input_is_seen():
    text = "int i = threadIdx.x; if (i < n) out[i] = 2.f * x[i]; if (i == 5) ((float*)x)[7] = -1.f;"
    result, _ = run(body(text), n=200)
    assert result.verdict is Verdict.UNDEFINED_BEHAVIOR
    assert [(d.kind, d.index) for d in result.diagnoses] == [(DiagnosisKind.INPUT_MODIFIED, (7,))]


def test_an_output_nobody_wrote_is_poison():
    result, _ = run(body("if (threadIdx.x == 0) out[0] = 1.f;"))
    got = np.frombuffer(result.outputs["out"], np.uint32)
    assert (got[1:] == 0xFFFFFFFF).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"grid": "0"}, "line 3: grid.x = 0: a grid needs at least one block"),
        ({"grid": "-3"}, "line 3: grid.x = -3: a grid needs at least one block"),
        ({"grid": "1ll << 40"}, "line 3: grid.x = 1099511627776, the limit is 2147483647"),
        ({"block": "1025"}, "line 3: block of 1025 x 1 x 1 = 1025 threads"),
        ({"shared": "300000"}, "line 3: shared memory 300000 bytes, the limit is"),
    ],
)
def test_bad_geometry_is_refused_before_the_launch(settings, words):
    result, _ = run(DOUBLE, **settings)
    assert result.verdict is Verdict.LAUNCH_ERROR
    assert result.message.startswith(words)


def test_launch_bounds_and_large_dynamic_shared_memory_are_known():
    source = DOUBLE.replace("void kernel", "void __launch_bounds__(64) kernel")
    result, _ = run(source)
    assert result.verdict is Verdict.LAUNCH_ERROR
    assert "the kernel only 64" in result.message
    large = HEAD.replace('extern "C"', 'extern __shared__ float s[];\nextern "C"') + (
        "int i = blockIdx.x * blockDim.x + threadIdx.x; s[40000 + threadIdx.x] = 2.f * x[i < n ? i : 0]; "
        "__syncthreads(); if (i < n) out[i] = s[40000 + threadIdx.x]; }\n"
    )
    result, _ = run(large, shared="200000")
    assert result.verdict is None, result.message
    assert doubled(result)


def test_static_and_dynamic_shared_memory_may_pass_48_kib_together():
    both = HEAD.replace('extern "C"', 'extern __shared__ float s[];\nextern "C"') + (
        "__shared__ float fixed[10000]; int i = blockIdx.x * blockDim.x + threadIdx.x, last = 10239 - threadIdx.x; "
        "fixed[threadIdx.x] = x[i < n ? i : 0]; s[last] = 2.f; __syncthreads(); "
        "if (i < n) out[i] = s[last] * fixed[threadIdx.x]; }\n"
    )
    result, _ = run(both, shared="40960")
    assert result.verdict is None, result.message
    assert doubled(result)


def test_absurd_local_memory_is_refused_with_its_figures():
    text = (
        "volatile float big[120000]; for (int i = 0; i < 120000; ++i) big[i] = x[i % n]; "
        "out[threadIdx.x % n] = big[n * 7 % 120000];"
    )
    result, _ = run(body(text), grid="1", block="32")
    print(f"\n{result.verdict} {result.message}")
    assert result.verdict in {Verdict.LAUNCH_ERROR, None}


DOUBLE_TEXT = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 2.f * x[i];"


def test_what_a_kernel_prints_is_caught_and_capped():
    hello = body(r'if (threadIdx.x == 0 && blockIdx.x == 0) printf("n is %d\n", n);' + DOUBLE_TEXT)
    result, _ = run(hello)
    assert result.printed == "n is 1000\n"
    assert doubled(result)
    flood = body(r'printf("KJF1 accepted, thread %d of a flood\n", threadIdx.x);' + DOUBLE_TEXT)
    result, _ = run(flood, n=20_000)
    assert len(result.printed) <= 70_000
    assert "[output cut after" in result.printed
    assert result.verdict is None, (result.verdict, result.message)
    assert doubled(result, 20_000)
    # Fifty times as many take the device forty seconds: threads queue for a full buffer.
    result, seconds = run(flood, n=1_000_000, time_limit_s=2.0)
    assert result.verdict is Verdict.TIME_LIMIT, (result.verdict, result.message)
    assert seconds < 20.0


def test_a_bench_case_has_a_known_time():
    n = 1 << 26
    result, seconds = run(DOUBLE, n=n, bench=True, time_limit_s=20, signed=())
    timing = result.timing
    assert timing is not None
    gbs = 8 * n / (timing.median_us * 1e3)
    print(f"\ndouble {n} floats: {timing}, {gbs:.0f} GB/s, case {seconds:.2f} s")
    assert doubled(result, n)
    assert timing.p10_us <= timing.median_us <= timing.p90_us
    assert timing.rel_ci95 < 0.05
    assert 100 < gbs < 20_000


def test_an_empty_kernel_takes_microseconds():
    result, _ = run(body("if (n < 0) out[0] = 1.f;"), bench=True)
    print(f"\nempty kernel: {result.timing}")
    assert result.timing.median_us < 50


def test_cases_go_on_in_a_fresh_worker_after_a_fault():
    source = body(
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (n == 13) __trap(); if (i < n) out[i] = 2.f * x[i];"
    ) + PLAN % {"grid": "(n + 255) / 256", "block": "256", "shared": "0"}
    with Session("cuda") as session:
        session.load(ModuleImage(compile_cubin(source, session.properties().arch), source, {}))
        verdicts = [session.run_case(request(n)).verdict for n in (12, 13, 14, 13, 15)]
    assert verdicts == [None, Verdict.RUNTIME_ERROR, None, Verdict.RUNTIME_ERROR, None]


def test_no_word_of_a_dead_process_is_seen_by_the_next():
    secret = 0x5EC4E7
    run(body(f"for (int i = threadIdx.x; i < n; i += blockDim.x) ((unsigned*)out)[i] = {secret}u;"), n=1 << 24)
    looking = body("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 2.f * x[i];")
    source = looking + PLAN % {"grid": "4", "block": "256", "shared": "0"}
    with Worker("cuda") as worker:
        worker.load(ModuleImage(compile_cubin(source, worker.ready().arch), source, {}))
        result = worker.run_case(request())
    assert np.frombuffer(result.outputs["out"], np.uint32).tolist().count(secret) == 0
