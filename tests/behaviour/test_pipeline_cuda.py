"""The order of things when a GPU is there, on a stand-in: fast module, optimized module, bench, conjunction."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from judge import pipeline
from judge.compiler import Target
from judge.errors import MachineError
from judge.events import NullSink
from judge.pipeline import judge_submission
from judge.problem import Tiers, Timed
from judge.records import CompileMessage
from judge.reports.style import Style
from judge.reports.text import render_text
from judge.sandbox.view import plain_view
from judge.selection import Options
from judge.verdict import Verdict
from judge.worker import supervisor
from tests.behaviour.test_pipeline import PROBLEM, RIGHT, changed

STAND_IN = Path(__file__).parent / "cuda_stand_in.py"


class Notes(NullSink):
    def __init__(self):
        self.compiled_for = []
        self.finished_cases = []
        self.notes = []

    def compiling(self, backend):
        self.compiled_for.append(backend)

    def case_finished(self, report, position, total):
        self.finished_cases.append((report.backend, report.name, position, total))

    def note(self, message):
        self.notes.append(message)


class Targets(list):
    """What was compiled for, in order.

    broken, failing: modes in which nothing compiles, or all of it fails with the CUDA error.
    """

    broken = ()
    failing = ()
    error = 715


@pytest.fixture
def targets(tmp_path, monkeypatch):
    """A machine with a GPU; gives the targets compiled for."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(pipeline, "gpu_present", lambda: True)
    real_command, real_compile = supervisor._command, pipeline.compile_unit
    asked = Targets()

    def command(kind, ordinal):
        return [sys.executable, str(STAND_IN)] if kind == "cuda" else real_command(kind, ordinal)

    def compile_unit(unit, target):
        asked.append((target.kind, target.arch, target.mode))
        made = real_compile(unit, Target(kind="ptx", arch="compute_90", mode="debug"))
        if target.mode in asked.failing:
            return replace(made, image=made.image + b"// CUDA error %d" % asked.error)
        if target.mode not in asked.broken:
            return made
        message = CompileMessage(message="ptxas does not get through with it")
        return replace(made, ok=False, image=b"", lowered={}, messages=(message,), kernels=(), timed_out=True)

    monkeypatch.setattr(supervisor, "_command", command)
    monkeypatch.setattr(supervisor, "_view", lambda kind, ordinal: plain_view([STAND_IN.parents[1]]))
    monkeypatch.setattr(pipeline, "compile_unit", compile_unit)
    return asked


def judge(source, sink=None, **options):
    return judge_submission(PROBLEM, source.encode(), "mine.cu", Options(**options), sink or NullSink())


def rows_of_scaling(case, inputs, rows):
    return {"out": float(case.parameters["factor"]) * inputs["x"].take(rows).astype(np.float64)}


TIMED = replace(
    PROBLEM,
    # On a busy machine the stand-in, which is a CPU, takes its time for a million threads.
    cases=(*PROBLEM.cases[:-1], replace(PROBLEM.cases[-1], time_limit_s=60.0)),
    timed=Timed(("x",), lambda case: case.parameters["n"], rows_of_scaling, Tiers(0.2, 0.4, 0.9, "reads")),
)


def bench(source, problem=TIMED):
    report = judge_submission(problem, source.encode(), "mine.cu", Options(group="bench"), NullSink())
    return report, report.cases[0]


ALL = [("ptx", "compute_90", "debug"), ("cubin", "sm_90", "fast"), ("cubin", "sm_90", "optimized")]


def test_a_right_kernel_is_judged_by_both_and_timed_last(targets):
    notes = Notes()
    report = judge(RIGHT, notes)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert targets == ALL
    assert [backend.kind for backend in report.backends] == ["cpu", "cuda"]
    names = [(case.backend, case.name) for case in report.cases]
    correctness = ["one", "some", "many"]
    assert names == [("cpu", n) for n in correctness] + [("cuda", n) for n in [*correctness, "large"]]
    large = report.cases[-1]
    assert large.timing.median_us == pytest.approx(100.05)
    assert large.bandwidth_gbs == pytest.approx(8 * 2**20 / 1e3 / large.timing.median_us)
    assert large.roofline_fraction == pytest.approx(large.bandwidth_gbs / 200)
    assert large.timing.rates.f32_tflops == 50
    assert large.tier is None, "the problem has no tiers"
    assert all(case.timing is None for case in report.cases[:-1])
    assert [entry[:2] for entry in notes.finished_cases] == names
    assert report.message == "All cases right: 3 on the CPU backend, 4 on stand-in."


def test_a_wrong_kernel_never_waits_for_the_optimizer(targets):
    notes = Notes()
    report = judge(changed("factor * x", "(n == 33 ? 3.f : factor) * x"), notes, backend="cuda")
    assert report.verdict is Verdict.WRONG_ANSWER
    assert targets == [("cubin", "sm_90", "fast")]
    assert [case.verdict.value for case in report.cases] == ["accepted", "wrong_answer", "accepted"]
    assert [entry[1] for entry in notes.finished_cases] == ["some"]
    assert report.replay.endswith("--backend cuda")


@pytest.mark.parametrize("source", [RIGHT, changed("factor * x", "3.f * x")], ids=["right", "wrong"])
@pytest.mark.parametrize(("backend", "broken"), [("cuda", "fast"), ("cuda", "optimized"), ("auto", "optimized")])
def test_what_does_not_compile_in_one_of_the_modes_is_never_accepted(targets, source, backend, broken):
    targets.broken = (broken,)
    for _ in range(2):
        report = judge(source, backend=backend)
        right = source == RIGHT or broken == "fast"
        assert report.verdict is (Verdict.COMPILE_ERROR if right else Verdict.WRONG_ANSWER), report.message
        assert not right or "ptxas does not get through" in report.message


@pytest.mark.parametrize(
    ("source", "failing", "verdict"),
    [
        (RIGHT, "fast", Verdict.ACCEPTED),
        (changed("factor * x", "3.f * x"), "fast", Verdict.WRONG_ANSWER),
        (RIGHT, "optimized", Verdict.RUNTIME_ERROR),
        (RIGHT, "fast optimized", Verdict.RUNTIME_ERROR),
    ],
    ids=["right", "wrong", "optimized", "both"],
)
def test_of_an_instruction_that_the_gpu_does_not_know_the_optimized_module_decides(targets, source, failing, verdict):
    targets.failing = failing.split()
    notes = Notes()
    report = judge(source, notes, backend="cuda")
    assert report.verdict is verdict, report.message
    assert targets == ALL[1:]
    assert [case.name for case in report.cases][:3] == ["one", "some", "many"], "each case once"
    noted = [note for note in notes.notes if "the optimized module decides" in note or "not run" in note]
    assert len(noted) == ("fast" in targets.failing) + (verdict is Verdict.RUNTIME_ERROR)
    assert [entry[1] for entry in notes.finished_cases][:2] == ["one", "some"], "told once, by what decides"
    if verdict is Verdict.RUNTIME_ERROR:
        assert "illegal instruction" in report.message


SAYS_SO = "the kernel executed a trap or an illegal instruction (CUDA error 715)"


@pytest.mark.parametrize("error", [700, 710, 716, 719])
def test_a_fault_is_no_other_for_what_the_launch_line_says(targets, error):
    targets.failing, targets.error = ("fast",), error
    named = RIGHT.replace("__global__", "template <int N> __global__").replace(
        "scale<<<", f'scale<sizeof("{SAYS_SO}")><<<'
    )
    report = judge(named, backend="cuda")
    assert report.verdict is Verdict.RUNTIME_ERROR
    assert SAYS_SO in report.message
    assert targets == ALL[1:2]


def test_the_modules_are_the_same_when_all_is_at_hand(targets):
    for _ in range(2):
        targets.clear()
        assert judge(RIGHT).verdict is Verdict.ACCEPTED
        assert targets == ALL


def test_no_case_is_never_right(targets, monkeypatch):
    monkeypatch.setattr("judge.casework.Casework.run", lambda *arguments, **options: [])
    report = judge(RIGHT)
    assert report.verdict is Verdict.JUDGE_ERROR
    assert report.message == "No case was run on the CPU backend."


def test_the_verdict_is_the_conjunction(targets):
    late = "if (i < n || n == 33) out[i]"
    report = judge(changed("if (i < n) out[i]", late))
    assert report.verdict is Verdict.UNDEFINED_BEHAVIOR
    assert {case.backend for case in report.cases} == {"cpu", "cuda"}
    stopped = judge(changed("if (i < n) out[i]", late), fail_fast=True)
    assert {case.backend for case in stopped.cases} == {"cpu"}


def test_a_compile_error_asks_no_gpu(targets):
    report = judge(changed("factor * x", "factor * y"))
    assert report.verdict is Verdict.COMPILE_ERROR
    assert targets == ALL[:1]


def test_bench_cases_alone_need_only_the_optimized_module(targets):
    report = judge(RIGHT, group="bench")
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert targets == ALL[2:]
    assert [case.name for case in report.cases] == ["large"]


def test_a_wrong_bench_answer_is_a_wrong_answer(targets):
    report = judge(changed("factor * x", "(n > 2000 ? 3.f : factor) * x"))
    assert report.verdict is Verdict.WRONG_ANSWER
    assert [case.name for case in report.cases if case.verdict is Verdict.WRONG_ANSWER] == ["large"]


def test_a_gpu_that_does_not_work_is_a_note_unless_it_was_asked_for(targets, monkeypatch):
    real = supervisor._command
    monkeypatch.setattr(
        supervisor,
        "_command",
        lambda kind, ordinal: (
            [sys.executable, "-c", "import sys; sys.exit('no usable GPU 0: driver too old')"]
            if kind == "cuda"
            else real(kind, ordinal)
        ),
    )
    notes = Notes()
    report = judge(RIGHT, notes)
    assert report.verdict is Verdict.ACCEPTED
    assert [backend.kind for backend in report.backends] == ["cpu"]
    assert "driver too old" in notes.notes[0]
    with pytest.raises(MachineError, match="driver too old"):
        judge(RIGHT, backend="cuda")


def test_a_write_beside_a_buffer_shows_in_its_guard_zone(targets):
    report = judge(changed("if (i < n) out[i]", "if (i == 0) out[n] = 7.f;\n  if (i < n) out[i]"), backend="cuda")
    assert report.verdict is Verdict.UNDEFINED_BEHAVIOR
    found = {(d.kind.value, d.buffer, d.index) for case in report.cases for d in case.diagnoses}
    assert ("guard_overwritten", "out", (33,)) in found


def test_every_repeat_has_other_numbers_and_its_outputs_are_verified(targets):
    report, case = bench(RIGHT)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert case.timing.fresh_data
    assert case.timing.verified_repeats > 1
    assert case.timing.verified_rows == case.timing.rows == 1 << 20
    assert case.tier == "silver"
    assert report.tiers == {"large": "silver"}


KEPT = "__device__ float kept[1 << 20];\n__device__ int calls;\n"


def test_an_answer_kept_in_a_device_variable_is_wrong_in_the_next_repeat(targets):
    lazy = "if (i < n) { if (kept[i] == 0.f) kept[i] = factor * x[i]; out[i] = kept[i]; }"
    report, case = bench(KEPT + changed("if (i < n) out[i] = factor * x[i];", lazy))
    assert report.verdict is Verdict.WRONG_ANSWER, report.message
    assert "verified elements of timed repeats differ" in report.message
    assert "verified elements of timed repeats differ" in " ".join(render_text(report, Style()).split())
    assert case.tier is None


def test_a_kernel_that_counts_its_calls_and_stops_working_is_caught(targets):
    lazy = (
        "__shared__ int call; if (threadIdx.x == 0) call = atomicAdd(&calls, 1) / gridDim.x; __syncthreads();"
        "if (i < n && (call < 6 || call % 2)) out[i] = factor * x[i];"
    )
    report, _ = bench(KEPT + changed("if (i < n) out[i] = factor * x[i];", lazy))
    assert report.verdict is Verdict.WRONG_ANSWER, report.message
    assert "of timed repeats differ" in report.message
