"""`judge stats` on real kernels; figures worked out by hand."""

import json

import jsonschema
import pytest

from judge.errors import NothingToDoError, SubmissionError, UsageError
from judge.events import NullSink
from judge.figures import Statistics, statistics_schema
from judge.records import AccessPattern
from judge.reports.statistics import render_statistics
from judge.reports.style import Style
from judge.statistics import Choice, NotCountedError, choose_case, collect
from judge.tallies import active_lanes
from tests.behaviour.test_pipeline import PROBLEM, RIGHT, STRIDED

TWO_LAUNCHES = """// @workspace float part[n]
// @launch first<<<(n + 63) / 64, 64>>>(x, part, n)
// @launch second<<<(n + 63) / 64, 64>>>(x, part, out, n, factor)
__global__ void first(const float* x, float* part, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 2) part[i] = x[i];
}
__global__ void second(const float* x, const float* part, float* out, int n, float factor) {
  __shared__ float t[64 * 32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  t[threadIdx.x * 32] = i < n / 2 ? part[i] : i < n ? x[i] : 0.f;
  __syncthreads();
  if (i < n) out[i] = factor * t[threadIdx.x * 32];
}
"""


def count(source, case="many", arch="sm_90"):
    return collect(PROBLEM, source.encode(), "mine.cu", Choice(case, arch), NullSink())


@pytest.fixture(scope="module")
def strided():
    return count(STRIDED)


@pytest.fixture(scope="module")
def two_launches():
    return count(TWO_LAUNCHES)


def test_sectors_of_a_thread_that_takes_a_run_of_its_own(strided):
    """1000 elements, 32 threads, 32 each: eight requests of 32 lanes and 24 of 31, a sector a lane."""
    x = strided.counters.buffers["x"]
    assert x.reads == AccessPattern(requests=32, sectors=1000, ideal_sectors=128)
    assert strided.counters.buffers["out"].writes == x.reads
    assert (x.bytes_read, x.unique_bytes_read, x.read_amplification) == (4000, 4000, 1.0)
    assert strided.counters.flops == 1000


def test_the_bad_figure_gets_advice_with_its_line(strided):
    assert [(a.table, a.subject, a.line) for a in strided.advice] == [("buffers", "x", 6), ("buffers", "out", 6)]
    assert strided.advice[0].message.startswith("a read takes 31.2 sectors where 4.0 would do")
    worst = next(entry for entry in strided.lines if entry.line == 6)
    assert worst.source == "if (i < n) out[i] = factor * x[i];"
    assert worst.buffers == ("out", "x")
    assert worst.access.sectors == 2000


def test_good_figures_get_none():
    found = count(RIGHT)
    assert found.advice == ()
    text = render_statistics(found, Style(width=110))
    assert "would do" not in text
    assert "100%" in text


def test_launches_are_told_apart_and_distinct_bytes_are_those_of_both(two_launches):
    """The first launch reads elements 0 to 499 of x, the second 500 to 999 of it and 0 to 499 of part."""
    first, second = two_launches.launches
    assert first.counters.buffers["x"].unique_bytes_read == 2000
    assert second.counters.buffers["x"].unique_bytes_read == 2000
    assert second.counters.buffers["part"].bytes_read == 2000
    assert two_launches.counters.buffers["x"].unique_bytes_read == 4000
    assert two_launches.counters.buffers["x"].read_amplification == 1.0
    assert (first.line, second.line) == (2, 3)


def test_bank_conflicts_are_told_with_their_line(two_launches):
    """Every lane of a warp meets the first bank: 32 wavefronts for each of 32 full warps' stores."""
    second = two_launches.launches[1].counters
    assert (second.shared_writes.requests, second.shared_writes.wavefronts) == (32, 1024)
    [told] = [a for a in two_launches.advice if "bank" in a.message]
    assert told.subject == "second"
    assert two_launches.lines[0].source
    source = TWO_LAUNCHES.splitlines()[told.line - 1]
    assert "threadIdx.x * 32" in source
    text = render_statistics(two_launches, Style(width=110))
    assert "32.0 wavefronts a request, 1.0 would do" in text


def test_occupancy_is_that_of_a_cubin_made_without_a_gpu(two_launches):
    """64 threads and 8 KiB: on sm_90 with 1 KiB of the system 25 blocks of 2 warps fit, of 64."""
    resident = two_launches.launches[1].residency
    assert (resident.shared_bytes, resident.blocks, resident.limited_by) == (8192, 25, ("shared memory",))
    assert resident.occupancy == 50 / 64
    assert 0 < resident.registers < 64
    older = count(TWO_LAUNCHES, arch="sm_75").launches[1].residency
    assert (older.blocks, older.max_warps, older.limited_by) == (8, 32, ("shared memory",))


def test_lanes_of_a_branch():
    """In every warp the first lane alone does the long work."""
    source = RIGHT.replace(
        "out[i] = factor * x[i];",
        "{\n    float s = x[i];\n    if (threadIdx.x % 32 == 0)\n      for (int k = 0; k < n; ++k) s = s * 1.5f + x[k];"
        "\n    out[i] = s;\n  }",
    )
    found = count(source)
    assert active_lanes(found.counters) < 4
    [told] = [a for a in found.advice if "lanes work" in a.message]
    assert "for (int k" in source.splitlines()[told.line - 1]


def test_json_follows_its_schema(two_launches):
    value = json.loads(two_launches.model_dump_json())
    jsonschema.Draft202012Validator(statistics_schema()).validate(value)
    assert Statistics.model_validate(value) == two_launches


def test_the_text_names_every_launch_and_buffer(two_launches):
    text = render_statistics(two_launches, Style(width=110))
    for word in ("first", "second", "part", "sectors/read", "limited by", "shared memory", "sm_90", "Case many"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 130


def test_what_cannot_be_counted_is_told():
    with pytest.raises(NotCountedError, match="Case many did not run to its end") as faulty:
        count(RIGHT.replace("x[i]", "x[i + 100000]"))
    assert ".." not in str(faulty.value)
    with pytest.raises(SubmissionError, match="undefined") as caught:
        count(RIGHT.replace("factor * x", "fctor * x"))
    assert caught.value.line == 4
    with pytest.raises(UsageError, match=r"sm_12345\. Known: sm_70"):
        count(RIGHT, arch="sm_12345")
    with pytest.raises(NothingToDoError, match="too large"):
        choose_case(PROBLEM, "large")
    with pytest.raises(UsageError, match="no case 'lots'"):
        choose_case(PROBLEM, "lots")
    assert choose_case(PROBLEM, None).name == "one"
