"""Timing on a GPU: data that is fresh and known, a cold L2, rates, and kernels that want a better time."""

import numpy as np
import pytest

from judge.backends.base import BufferLabel, ModuleImage
from judge.backends.cuda.device import CudaDevice
from judge.catalogue import load_problem
from judge.events import NullSink
from judge.pipeline import judge_submission
from judge.selection import Options
from judge.timing.fresh import flipped
from judge.timing.rulers import rulers_for
from judge.timing.secret import Secret
from judge.verdict import Verdict
from judge.worker.supervisor import Worker
from tests.gpu.raw import DOUBLE, PLAN, body, compile_cubin, request

PLANNED = PLAN % {"grid": "(n + 255) / 256", "block": "256", "shared": "0"}


@pytest.fixture(scope="module")
def device():
    return CudaDevice(0, capture=False)


@pytest.fixture(scope="module")
def bench(device):
    bench = device.bench(rulers_for(device.properties.arch))
    yield bench
    bench.close()


def timed(source, n, **settings):
    """The result of a bench case in a worker of its own, with its request."""
    with Worker("cuda") as worker:
        arch = worker.ready().arch
        whole = source + PLANNED
        worker.load(ModuleImage(compile_cubin(whole, arch), whole, {}))
        asked = request(n, bench=True, time_limit_s=20, arch=arch, **settings)
        return worker.run_case(asked), asked


@pytest.mark.parametrize("dtype", [np.uint32, np.uint16])
@pytest.mark.parametrize("count", [1, 63, 64, 1000, 1_000_003])
def test_signs_made_on_the_gpu_are_those_made_here(device, bench, dtype, count):
    data = np.random.default_rng(1).integers(0, 2**16, count).astype(dtype)
    address = device.allocate(BufferLabel("x", 4, (count,), "input"), data.nbytes)
    device.upload(address, data.data)

    def now():
        return np.frombuffer(device.download(address, data.nbytes), dtype)

    bench.refresh(address, count, data.itemsize, 0, 12345)
    assert np.array_equal(now(), flipped(data, 12345))
    bench.refresh(address, count, data.itemsize, 12345, 2**64 - 1)
    assert np.array_equal(now(), flipped(data, 2**64 - 1))
    bench.refresh(address, count, data.itemsize, 2**64 - 1, 0)
    assert np.array_equal(now(), data)


def test_the_rates_of_the_device_are_steady_and_in_proportion(bench):
    samples = [bench.rates_sample() for _ in range(20)]
    reads = sorted(sample.read_gbs for sample in samples)
    print(f"\n{samples[10]}; reads {reads[0]:.0f} to {reads[-1]:.0f} GB/s; {bench.conditions()}")
    assert reads[1] > 0.97 * reads[-2]
    middle = samples[10]
    assert middle.f16_tflops > 2 * middle.f32_tflops > 0
    assert 0.3 < middle.copy_gbs / middle.read_gbs < 1.3
    assert 0.5 < middle.overhead_us < 50


def test_what_was_just_written_is_out_of_l2_when_a_sample_begins(device, bench):
    """The end of a gigabyte that the judge wrote is in the L2, and dirty; its beginning, which is read then, is not."""
    size_bytes = 1 << 30
    address = device.allocate(BufferLabel("x", 4, (size_bytes // 4,), "input"), size_bytes)
    stopwatch = bench._bench

    def read_us(sweeps):
        times = []
        for repeat in range(15):
            bench.refresh(address, size_bytes // 4, 4, repeat, repeat + 1)
            read = lambda: stopwatch._read("read", address, size_bytes // 64, stopwatch._sms * 4)  # noqa: E731
            times.append(stopwatch._cold(read, sweeps))
        return sorted(times)[7]

    once, often = read_us(1), read_us(20)
    print(f"\n256 MiB after a GiB was written: swept once {once:.1f} us, twenty times {often:.1f} us")
    assert abs(once / often - 1) < 0.04


def test_the_last_repeat_has_the_data_its_secret_says():
    n = 100_003
    result, asked = timed(DOUBLE, n)
    assert result.verdict is None, result.message
    secret = Secret(bytes.fromhex(asked.timing.key))
    x = np.arange(n, dtype=np.float32)
    want = 2 * flipped(x, secret.seed(result.evidence.last))
    assert np.array_equal(np.frombuffer(result.outputs["out"], np.float32), want)
    rows = np.frombuffer(result.evidence.rows, np.float32).reshape(len(result.evidence.kept), -1)
    print(f"\n{result.timing.samples} samples, {len(result.evidence.kept)} kept: {result.timing}")
    assert len(result.evidence.kept) > result.timing.samples / 8
    for repeat, got in zip(result.evidence.kept, rows, strict=True):
        first, count = secret.block(repeat, n)
        assert np.array_equal(got, 2 * flipped(x, secret.seed(repeat))[first : first + count])


LOADS = {
    "plain": "v = x[i];",
    "evict_last": 'asm volatile("ld.global.L1::evict_last.f32 %0, [%1];" : "=f"(v) : "l"(x + i));',
    "prefetch": 'asm volatile("prefetch.global.L2::evict_last [%0];" :: "l"(x + i)); v = x[i];',
    "policy": 'unsigned long long p; asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(p)); '
    'asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(x + i), "l"(p));',
}


def test_no_hint_to_the_l2_wins_time():
    """16 MiB would fit into the L2 many times over, if it were not swept."""
    n = 1 << 22
    medians = {}
    for name, load in LOADS.items():
        source = body(
            f"int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) {{ float v; {load} out[i] = 2.f * v; }}"
        )
        result, _ = timed(source, n)
        assert result.verdict is None, result.message
        medians[name] = result.timing.median_us
    print(f"\nmedian us: {medians}")
    assert all(median > 0.95 * medians["plain"] for median in medians.values())


def test_what_a_variable_of_the_module_kept_is_gone_in_the_next_case():
    source = body(
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 2.f * x[i] + (n == 64 ? kept : 0.f);"
        "if (n == 32 && i == 0) kept = 5.f;"
    )
    source = "__device__ float kept;\n" + source
    with Worker("cuda") as worker:
        arch = worker.ready().arch
        worker.load(ModuleImage(compile_cubin(source + PLANNED, arch), source, {}))
        worker.run_case(request(32))
        kept = np.frombuffer(worker.run_case(request(64)).outputs["out"], np.float32)
        asked = request(64, bench=True, arch=arch, signed=())
        fresh = np.frombuffer(worker.run_case(asked).outputs["out"], np.float32)
    assert kept[0] == 5
    assert fresh[0] == 0


GQA = load_problem("gqa-decode")
MODEL = (GQA.folder / "submissions/accepted/plain.cu").read_text()
# The timed case has 64 sequences, and no other case has.
CHEATS = {
    "half of the cache": ("context_lens[seq];", "context_lens[seq] / (gridDim.y == 64 ? 2 : 1);"),
    "95% of the cache": ("context_lens[seq];", "context_lens[seq] - (gridDim.y == 64 ? context_lens[seq] / 20 : 0);"),
    "mean of V": ("w = expf(scores[g][t] - m_new);", "w = gridDim.y == 64 ? 1.f : expf(scores[g][t] - m_new);"),
    "one head of eight not written": (
        "out[rows + g * D + tid] =",
        "if (gridDim.y != 64 || kv_head != 5) out[rows + g * D + tid] =",
    ),
    "one sequence of 64 twice": ("seq = blockIdx.y;", "seq = blockIdx.y == 7 && gridDim.y == 64 ? 6 : blockIdx.y;"),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_decode_kernel_that_does_less_when_it_is_timed_is_wrong(name):
    old, new = CHEATS[name]
    assert old in MODEL
    options = Options(backend="cuda", cases=("bench-64x4096",), seed=1)
    report = judge_submission(GQA, MODEL.replace(old, new).encode(), "cheat.cu", options, NullSink())
    print(f"\n{name}: {report.verdict} in {report.seconds:.1f} s: {report.message}")
    assert report.verdict is Verdict.WRONG_ANSWER, report.message
    assert "verified elements of timed repeats differ" in report.message
    assert report.cases[0].tier is None


def test_the_model_solution_is_right_and_says_how_much_was_verified():
    options = Options(backend="cuda", cases=("bench-64x4096",), seed=1)
    report = judge_submission(GQA, MODEL.encode(), "plain.cu", options, NullSink())
    timing = report.cases[0].timing
    print(f"\n{report.seconds:.1f} s: {timing}, {report.cases[0].roofline_fraction:.1%}, {report.cases[0].tier}")
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert timing.fresh_data
    assert timing.verified_rows > 0.5 * timing.rows
    assert timing.refused is None
    assert 0 < report.cases[0].roofline_fraction < 1.05


def test_half_precision_inside_is_told_from_float32():
    source = MODEL.replace("keys[t][d] = k_cache[at];", "keys[t][d] = __half2float(__float2half(k_cache[at]));")
    assert source != MODEL
    source = source.replace('#include "common.cuh"', '#include "common.cuh"\n#include <cuda_fp16.h>')
    options = Options(backend="cuda", cases=("bench-64x4096",), seed=1)
    report = judge_submission(GQA, source.encode(), "half.cu", options, NullSink())
    assert report.verdict is Verdict.WRONG_ANSWER, report.message
