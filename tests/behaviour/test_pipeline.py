"""A submission's whole way on the CPU backend, with a problem small enough to see through: out = factor * x."""

import math

import numpy as np
import pytest

from judge.compiler.occupancy import occupancy
from judge.errors import MachineError, NothingToDoError, UsageError
from judge.events import NullSink
from judge.examples import case_generator
from judge.pipeline import judge_submission
from judge.problem import Buffer, Case, Group, Parameter, Problem, Requirement, Role, Tolerance
from judge.records import DiagnosisKind, Report
from judge.reports.style import Style
from judge.reports.text import render_text
from judge.sandbox.bubblewrap import Bubblewrap, bubblewrap
from judge.schedules import schedule_of
from judge.selection import Options, choose_cases
from judge.verdict import Verdict
from judge.worker import incidents


def generate(case, rng):
    return {"x": rng.standard_normal(case.parameters["n"]).astype(np.float32)}


def reference(case, inputs):
    if case.family == "broken":
        raise ZeroDivisionError("the author's own mistake")
    return {"out": np.float64(case.parameters["factor"]) * inputs["x"].astype(np.float64)}


def naive(case, inputs):
    return {"out": np.float32(case.parameters["factor"]) * inputs["x"]}


def a_case(name, n, group=Group.HIDDEN, **settings):
    return Case(name, group, {"n": n, "factor": 2.0, "W": 32}, time_limit_s=1.0, **settings)


PROBLEM = Problem(
    id="scaling",
    title="Scaling",
    summary="out = factor * x",
    buffers=(Buffer("x", "f32", ("n",), Role.INPUT), Buffer("out", "f32", ("n",), Role.OUTPUT)),
    parameters=(Parameter("n", "int"), Parameter("factor", "float"), Parameter("W", "int", constant=True)),
    cases=(
        a_case("one", 1, Group.SAMPLE, seed=1),
        a_case("some", 33),
        a_case("many", 1000),
        a_case("large", 1 << 20, Group.BENCH),
    ),
    generate=generate,
    reference=reference,
    naive=naive,
    minimum_bytes=lambda case, inputs: 8 * case.parameters["n"],
    minimum_flops=lambda case, inputs: case.parameters["n"],
    tolerances={"out": Tolerance(1e-6, 1e-6, "one multiplication")},
    mutants=(),
    default_launch="scale<<<(n + W - 1) / W, W>>>(x, out, n, factor)",
    version="test",
)

RIGHT = """// @launch scale<<<(n + 63) / 64, 64>>>(x, out, n, factor)
__global__ void scale(const float* x, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = factor * x[i];
}
"""


class Notes(NullSink):
    def __init__(self):
        self.told = []

    def case_started(self, backend, name, position, total):
        self.told.append(("started", name, position, total))

    def case_finished(self, report, position, total):
        self.told.append(("finished", report.name, report.verdict.value))

    def finished(self, report):
        self.told.append(("report", report.verdict.value))


@pytest.fixture(autouse=True)
def _state_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def judge(source, problem=PROBLEM, sink=None, **options):
    options = Options(**{"backend": "cpu"} | options)
    data = source if isinstance(source, bytes) else source.encode()
    return judge_submission(problem, data, "mine.cu", options, sink or NullSink())


def changed(old, new):
    assert old in RIGHT
    return RIGHT.replace(old, new)


def test_a_right_kernel_is_accepted_and_every_case_is_told_in_order():
    notes = Notes()
    report = judge(RIGHT, sink=notes, seed=7)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert [case.name for case in report.cases] == ["one", "some", "many"]
    assert report.seed == 7
    assert report.compile.ok
    tier = "isolated" if isinstance(bubblewrap(), Bubblewrap) else "restricted"
    assert (report.backend.kind, report.backend.isolation) == ("cpu", tier)
    assert (report.backend.isolation_reasons == ()) == (tier == "isolated")
    assert report.launches[0].text.startswith("scale<<<")
    assert report.cases[2].launches[0].grid == (16, 1, 1)
    assert report.cases[2].counters.flops == 1000
    assert [entry for entry in notes.told if entry[0] != "started"] == [
        ("finished", "one", "accepted"),
        ("finished", "some", "accepted"),
        ("finished", "many", "accepted"),
        ("report", "accepted"),
    ]
    assert notes.told[0] == ("started", "one", 1, 3)


def test_a_report_survives_json():
    report = judge(RIGHT, cases=("some",))
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_without_a_launch_line_the_default_launch_is_used_and_told():
    report = judge(RIGHT.split("\n", 1)[1])
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.submission.default_launch
    assert report.launches[0].line is None


def test_a_wrong_kernel_fails_with_a_replay_line_and_the_other_cases_still_run():
    report = judge(changed("if (i < n) out", "if (i < 32) out"), seed=5)
    assert report.verdict is Verdict.UNDEFINED_BEHAVIOR or report.verdict is Verdict.WRONG_ANSWER
    assert len(report.cases) == 3
    assert report.replay.startswith("judge test mine.cu --problem scaling --case ")
    assert report.replay.endswith(" --seed 5 --backend cpu")


def test_values_are_compared_and_unwritten_ones_are_named():
    report = judge(changed("if (i < n) out", "if (i < n && i != 32) out"))
    assert report.verdict is Verdict.WRONG_ANSWER
    verdicts = {case.name: case.verdict.value for case in report.cases}
    assert verdicts == {"one": "accepted", "some": "wrong_answer", "many": "wrong_answer"}
    some = report.cases[1]
    assert (some.error.mismatches, some.error.first.index) == (1, (32,))
    assert [diagnosis.kind.value for diagnosis in some.diagnoses] == ["unwritten"]


def test_fail_fast_stops_at_the_first_failure():
    report = judge(changed("factor * x", "3.f * x"), fail_fast=True)
    assert [case.name for case in report.cases] == ["one"]


def test_a_case_alone_sees_the_same_numbers():
    wrong = changed("factor * x", "3.f * x")
    together = judge(wrong, seed=11).cases[2]
    alone = judge(wrong, seed=11, cases=("many",)).cases[0]
    assert together.error == alone.error
    other = judge(wrong, seed=12, cases=("many",)).cases[0]
    assert other.error.first.got != alone.error.first.got


def test_samples_ignore_the_seed_of_the_run():
    one, some = PROBLEM.cases[:2]
    assert case_generator(one, 1).random() == case_generator(one, 2).random()
    assert case_generator(some, 1).random() != case_generator(some, 2).random()


def test_a_compile_error_has_its_line_and_nothing_ran():
    report = judge(changed("factor * x[i]", "factor * y[i]"))
    assert report.verdict is Verdict.COMPILE_ERROR
    assert report.compile.errors[0].line == 4
    assert report.message.startswith("line 4: ")
    assert report.cases == ()


@pytest.mark.parametrize(
    ("launch", "verdict", "words"),
    [
        ("scale<<<0, 64>>>(x, out, n, factor)", "launch_error", "grid.x = 0: a grid needs at least one block"),
        ("scale<<<n - 34, 64>>>(x, out, n, factor)", "launch_error", "grid.x = -33"),
        ("scale<<<1, 1025>>>(x, out, n, factor)", "launch_error", "block of 1025 x 1 x 1 = 1025 threads"),
        ("scale<<<dim3(1, 70000), 64>>>(x, out, n, factor)", "launch_error", "grid.y = 70000, the limit is 65535"),
        ("scale<<<1, 64, 300000>>>(x, out, n, factor)", "launch_error", "shared memory 300000 bytes"),
        ("scale<<<1 << 30, 1024>>>(x, out, n, factor)", "time_limit", "emulates every one"),
    ],
)
def test_a_bad_launch_is_refused_with_its_line(launch, verdict, words):
    report = judge(changed("scale<<<(n + 63) / 64, 64>>>(x, out, n, factor)", launch))
    assert report.verdict.value == verdict, report.message
    assert "line 1: " in report.message
    assert words in report.message


@pytest.mark.parametrize("launch", ["scale<<<1, 64>>>(x, out, n)", "scale<<<1, 64>>>(x, oot, n, factor)", "scale<<<1"])
def test_a_launch_line_that_means_nothing_is_a_compile_error_at_its_line(launch):
    report = judge(changed("scale<<<(n + 63) / 64, 64>>>(x, out, n, factor)", launch))
    assert report.verdict is Verdict.COMPILE_ERROR, report.message
    assert {error.line for error in report.compile.errors if error.severity == "error"} == {1}


@pytest.mark.parametrize("data", [b"", b"// nothing\n", b"\xff\xfe\x00", b"int a;\0int b;", b"/" * (10 << 20)])
def test_what_is_no_submission_is_refused_whole(data):
    report = judge(data)
    assert report.verdict is Verdict.COMPILE_ERROR
    assert report.message
    assert report.cases == ()
    assert report.submission.source_bytes == len(data)


def test_an_endless_kernel_ends_at_its_limit_and_the_next_case_runs():
    report = judge(changed("if (i < n)", "while (n == 33) __nanosleep(1);\n  if (i < n)"))
    verdicts = [case.verdict.value for case in report.cases]
    assert verdicts == ["accepted", "time_limit", "accepted"]
    assert report.cases[1].seconds < 4


def test_after_two_cases_at_their_limit_the_rest_is_not_run_and_says_so():
    endless = changed("if (i < n)", "while (n > 0) __nanosleep(1);\n  if (i < n)")
    notes = Notes()
    report = judge(endless, sink=notes)
    assert [case.verdict.value for case in report.cases] == ["time_limit", "time_limit", "not_run"]
    assert report.verdict is Verdict.TIME_LIMIT
    assert "(2 of 3 cases not accepted, 1 not run)" in report.message
    left_out = report.cases[2]
    assert left_out.message == "not run, because one used up its time and some used up its time"
    assert "--case many" in left_out.replay
    assert left_out.replay.endswith(
        f"--backend cpu --schedule {schedule_of(PROBLEM, PROBLEM.case(left_out.name), report.seed)}"
    )
    assert "started" not in {entry[0] for entry in notes.told if "many" in entry}
    assert Report.model_validate_json(report.model_dump_json()) == report
    assert [case.verdict.value for case in judge(endless, cases=("many",)).cases] == ["time_limit"]


def test_a_launch_refused_for_its_size_stops_no_other_case():
    report = judge(changed("<<<(n + 63) / 64, 64>>>", "<<<1 << 30, 1024>>>"))
    assert [case.verdict.value for case in report.cases] == ["time_limit"] * 3


def test_an_access_out_of_bounds_is_undefined_behavior_with_its_line_and_the_next_case_runs():
    report = judge(changed("if (i < n) out[i]", "if (i < n || n == 33) out[i]"))
    assert [case.verdict.value for case in report.cases] == ["accepted", "undefined_behavior", "accepted"]
    found = [(d.kind.value, d.line, d.buffer, d.index) for d in report.cases[1].diagnoses]
    assert found == [("out_of_bounds", 4, "x", (33,)), ("out_of_bounds", 4, "out", (33,))]
    assert report.hint


def test_workspaces_are_placed_and_capped():
    source = """// @workspace float part[n]
// @launch first<<<(n + 63) / 64, 64>>>(x, part, n)
// @launch second<<<(n + 63) / 64, 64>>>(part, out, n, factor)
__global__ void first(const float* x, float* part, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) part[i] = x[i];
}
__global__ void second(const float* part, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = factor * part[i];
}
"""
    report = judge(source)
    assert report.verdict is Verdict.ACCEPTED, report.message
    assert [launch.line for launch in report.launches] == [2, 3]
    huge = judge(source.replace("part[n]", "part[1ll << 40]"))
    assert huge.verdict is Verdict.MEMORY_LIMIT
    assert "line 1: workspace part has 1099511627776 elements" in huge.message
    negative = judge(source.replace("part[n]", "part[n - 2000]"))
    assert negative.verdict is Verdict.LAUNCH_ERROR
    assert "line 1: workspace part has -1" in negative.message


def test_a_requirement_is_checked_only_on_right_answers():
    strict = Requirement("flops_ratio", 0.5, "Do half the work.")
    problem = PROBLEM.__class__(**{**vars(PROBLEM), "requirements": (strict,)})
    report = judge(RIGHT, problem)
    assert report.verdict is Verdict.REQUIREMENT_UNMET
    assert "Do half the work." in report.message
    assert judge(changed("factor * x", "3.f * x"), problem).verdict is Verdict.WRONG_ANSWER


def test_a_requirement_against_another_case_runs_that_case_for_its_counts():
    no_more = Requirement(
        "flops_over_baseline", 20.0, "Do not repeat.", baseline="some", applies=lambda case: case.name == "many"
    )
    problem = PROBLEM.__class__(**{**vars(PROBLEM), "requirements": (no_more,)})
    for cases in ((), ("many",)):
        report = judge(RIGHT, problem, cases=cases)
        assert report.verdict is Verdict.REQUIREMENT_UNMET
        assert (
            "many takes 30.30 times the floating-point operations that the same kernel does in some" in report.message
        )
    assert [case.name for case in report.cases] == ["many"]


def test_a_fault_of_the_judge_is_a_judge_error_with_an_incident_and_no_details():
    broken = PROBLEM.__class__(**{**vars(PROBLEM), "cases": (a_case("bad", 4, family="broken"),)})
    notes = Notes()
    report = judge(RIGHT, broken, notes)
    assert report.verdict is Verdict.JUDGE_ERROR
    assert "the author's own mistake" not in report.message
    kept = (incidents.incident_folder() / f"{report.incident}.txt").read_text()
    assert "the author's own mistake" in kept
    assert notes.told[-1] == ("report", "judge_error")


def test_resources_of_the_kernels_need_no_gpu():
    report = judge(RIGHT, cases=("some",), resources=True)
    assert report.verdict is Verdict.ACCEPTED
    assert report.compile.kernels_arch == "sm_90"
    [kernel] = report.compile.kernels
    assert kernel.name == "scale"
    assert 4 <= kernel.registers <= 32
    [ran] = report.launches
    assert kernel.occupancy == occupancy(kernel.registers, 0, math.prod(ran.block), "sm_90").share
    assert judge(RIGHT, cases=("some",)).compile.kernels == ()


def test_the_cuda_backend_without_a_gpu_names_the_other_one(monkeypatch):
    monkeypatch.setattr("judge.pipeline.gpu_present", lambda: False)
    with pytest.raises(MachineError, match=r"^No NVIDIA GPU on this machine\. Use --backend cpu"):
        judge(RIGHT, backend="cuda")


def test_unknown_cases_and_empty_selections_are_told():
    with pytest.raises(UsageError, match="Did you mean many"):
        judge(RIGHT, cases=("mani",))
    with pytest.raises(NothingToDoError, match="need a GPU"):
        judge(RIGHT, group="bench")
    assert [case.name for case in choose_cases(PROBLEM, Options(group="sample"))] == ["one"]
    assert [case.name for case in choose_cases(PROBLEM, Options(cases=("many", "one")))] == ["one", "many"]


TICKETS = """// @launch scale<<<(n + 63) / 64, 64>>>(x, out, n, factor)
__device__ unsigned int next;
__global__ void scale(const float* x, float* out, int n, float factor) {
  __shared__ unsigned int ticket;
  if (threadIdx.x == 0) ticket = atomicInc(&next, gridDim.x - 1);
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = ticket == blockIdx.x ? factor * x[i] : 0.f;
}
"""
"""Right only where blocks draw their tickets in the order of their numbers."""


def test_every_second_hidden_case_runs_in_another_order_that_the_seed_chooses():
    first, again, other = (judge(RIGHT, seed=seed) for seed in (3, 3, 4))
    assert [case.schedule for case in first.cases][:2] == [0, 0]
    assert first.cases[2].schedule > 0
    assert [case.schedule for case in again.cases] == [case.schedule for case in first.cases]
    assert {schedule_of(PROBLEM, PROBLEM.case("many"), seed) for seed in range(20)} >= {
        1,
        other.cases[2].schedule,
        first.cases[2].schedule,
    }


def test_an_answer_that_depends_on_the_order_is_told_with_the_order_that_broke_it():
    report = judge(TICKETS, seed=3)
    assert report.verdict is Verdict.WRONG_ANSWER
    [case] = [case for case in report.cases if case.verdict is not Verdict.ACCEPTED]
    assert case.name == "many"
    assert case.schedule > 0
    assert case.diagnoses[0].kind is DiagnosisKind.ORDER_DEPENDENT
    assert f"(schedule {case.schedule})" in case.diagnoses[0].message
    assert "depends on the order of blocks and warps" in report.message
    assert case.replay.endswith(f"--case many --seed 3 --backend cpu --schedule {case.schedule}")
    assert report.hint == case.diagnoses[0].hint
    replayed = judge(TICKETS, seed=3, cases=("many",), schedule=case.schedule)
    assert replayed.cases[0].diagnoses[0].kind is DiagnosisKind.ORDER_DEPENDENT
    in_order = judge(TICKETS, seed=3, cases=("many",), schedule=0)
    assert in_order.verdict is Verdict.ACCEPTED
    text = render_text(report, Style())
    assert "order dependent: The answer depends on the order" in text
    assert "Order  blocks and warps" in text


COUNTED = """// @launch scale<<<(n + 63) / 64, 64>>>(x, out, n, factor)
__device__ unsigned int calls;
__global__ void scale(const float* x, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = atomicAdd(&calls, 1) < n ? factor * x[i] : 0.f;
}
"""
"""Right only the first time."""


def test_launches_that_are_right_only_the_first_time_are_wrong():
    report = judge(COUNTED, seed=3, cases=("some",))
    assert report.verdict is Verdict.WRONG_ANSWER
    assert report.cases[0].diagnoses[0].kind is DiagnosisKind.STATE_KEPT
    assert "__device__ variables still hold what the first run left" in report.cases[0].diagnoses[0].message


def test_launches_that_are_right_only_the_second_time_are_wrong():
    kept = "if (i < n) { out[i] = kept[i]; kept[i] = factor * x[i]; }"
    source = changed("if (i < n) out[i] = factor * x[i];", kept)
    report = judge(source.replace("__global__", "__device__ float kept[4096];\n__global__"), seed=3, cases=("some",))
    assert report.verdict is Verdict.WRONG_ANSWER
    assert report.cases[0].error.first.got == 0.0


def test_a_counter_that_nobody_goes_by_changes_nothing():
    source = changed("if (i < n)", "atomicAdd(&calls, 1); if (i < n)")
    report = judge(source.replace("__global__", "__device__ int calls;\n__global__"), seed=3, cases=("some",))
    assert report.verdict is Verdict.ACCEPTED
    assert report.cases[0].diagnoses == ()


def test_an_answer_that_is_wrong_in_every_order_is_no_matter_of_order():
    report = judge(changed("factor * x", "3.f * x"), seed=3, cases=("many",))
    assert report.cases[0].schedule > 0
    assert DiagnosisKind.ORDER_DEPENDENT not in {d.kind for d in report.cases[0].diagnoses}


STRIDED = """// @launch scale<<<1, 32>>>(x, out, n, factor)
__global__ void scale(const float* x, float* out, int n, float factor) {
  const int share = (n + 31) / 32;
  for (int k = 0; k < share; ++k) {
    int i = threadIdx.x * share + k;
    if (i < n) out[i] = factor * x[i];
  }
}
"""
"""Each thread takes a run of its own: right, and a sector a lane."""


def test_a_requirement_on_sectors_names_the_figure():
    near = Requirement("sectors_per_request", 6, "Let neighbouring lanes read neighbours.", ("x",))
    problem = PROBLEM.__class__(**{**vars(PROBLEM), "requirements": (near,)})
    report = judge(STRIDED, problem, cases=("many",))
    assert report.verdict is Verdict.REQUIREMENT_UNMET
    assert "Let neighbouring lanes read neighbours. Here a request of a warp for x takes 31." in report.message
    assert judge(RIGHT, problem, cases=("many",)).verdict is Verdict.ACCEPTED
    assert judge(STRIDED.replace("factor * x", "3.f * x"), problem, cases=("many",)).verdict is Verdict.WRONG_ANSWER
