"""A case's way through a device: poison, plans, launches, outputs, and what a kernel must not do."""

import struct

import numpy as np
import pytest

from judge.backends.base import DeviceFault, KernelAttributes, LaunchOutcome
from judge.problem import Role
from judge.records import BufferTraffic, Counters, Diagnosis, DiagnosisKind
from judge.timing.fresh import flipped
from judge.timing.sampling import Conditions, RatesSample
from judge.timing.secret import Secret
from judge.verdict import Verdict
from judge.worker.execution import GUARD_BYTES, run_case
from judge.worker.messages import BufferSpec, CaseRequest, LaunchSpec, ParameterValue, WorkspaceSpec
from judge.worker.timing_messages import TimingRequest
from tests.unit.worker.fake_device import FakeDevice, planner, workspace_planner

X = BufferSpec("x", "f32", "float", (2, 2), Role.INPUT, 4)
OUT = BufferSpec("out", "f32", "float", (4,), Role.OUTPUT, 4)


def request(**changes) -> CaseRequest:
    fields = {
        "name": "case",
        "workspace_kernel": "plan_w",
        "launch_kernel": "plan_l",
        "launches": (LaunchSpec("k", "kernel", 3),),
        "parameters": (ParameterValue("n", "int", 4), ParameterValue("scale", "float", 0.5)),
        "buffers": (X, OUT),
        "inputs": {"x": np.arange(4, dtype=np.float32).reshape(2, 2)},
    }
    return CaseRequest(**(fields | changes))


def doubling(device, launch):
    """out = 2 * x; finds its buffers by label, as the fake has no pointers to follow."""
    guard = GUARD_BYTES if device.kind == "cuda" else 0
    x = np.frombuffer(device.download(device.labels["x"] + guard, 16), np.float32)
    device.upload(device.labels["out"] + guard, (2 * x).tobytes())


ONE_LAUNCH = planner((1, 1, 1, 32, 1, 1, 0))


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_outputs_come_back_and_stages_are_told(kind):
    device = FakeDevice({"plan_l": ONE_LAUNCH, "k": doubling}, kind=kind)
    stages = []
    result = run_case(device, request(), stages.append)
    assert result.verdict is None
    assert np.frombuffer(result.outputs["out"], np.float32).tolist() == [0, 2, 4, 6]
    assert result.launches[0].block == (32, 1, 1)
    assert stages == ["running", "fetching"]
    assert device.memory == {}


def test_an_output_nobody_writes_is_all_poison():
    device = FakeDevice({"plan_l": ONE_LAUNCH, "k": lambda device, launch: None})
    assert run_case(device, request()).outputs["out"] == b"\xff" * 16


def test_the_planner_gets_parameters_and_pointers_and_the_kernel_its_block():
    device = FakeDevice({"plan_l": planner((1, 1, 1, 1, 1, 1, 0), arguments=(b"block678",)), "k": doubling})
    run_case(device, request())
    plan, launch = device.launched
    _geometry, _blocks, n, scale, x, out = struct.unpack("<QQifQQ", plan.arguments)
    assert (n, scale) == (4, 0.5)
    assert (x, out) == (device.labels["x"], device.labels["out"])
    assert launch.arguments == b"block678"


def test_workspaces_are_sized_poisoned_and_handed_to_the_planner():
    seen = []
    device = FakeDevice(
        {
            "plan_w": workspace_planner((4, 8)),
            "plan_l": ONE_LAUNCH,
            "k": lambda device, launch: seen.append(device.download(device.labels["part"], 32)),
        }
    )
    result = run_case(device, request(workspaces=(WorkspaceSpec("part", "float", 1),)))
    assert result.verdict is None
    assert seen == [b"\xff" * 32]
    assert struct.unpack_from("<Q", device.launched[1].arguments, 40)[0] == device.labels["part"]


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_a_planner_sees_no_input_and_leaves_nothing_behind(kind):
    """A launch line's expressions are a stranger's code that is neither counted nor timed."""
    seen = {}
    guard = GUARD_BYTES if kind == "cuda" else 0

    def look(device, launch):
        for name, size in (("x", 16), ("out", 16), ("part", 32)):
            at = device.labels[name] + guard
            seen[name] = device.download(at, size)
            device.upload(at, bytes(size))
        ONE_LAUNCH(device, launch)

    device = FakeDevice(
        {
            "plan_w": workspace_planner((4, 8)),
            "plan_l": look,
            "k": lambda device, launch: seen.update(left=device.download(device.labels["part"] + guard, 32)),
        },
        kind=kind,
    )
    result = run_case(device, request(workspaces=(WorkspaceSpec("part", "float", 1),)))
    assert {name: set(data) for name, data in seen.items()} == {name: {0xFF} for name in ("x", "out", "part", "left")}
    assert result.verdict is None
    assert result.outputs["out"] == b"\xff" * 16


def test_a_workspace_over_the_cap_is_a_memory_limit_and_nothing_is_launched():
    device = FakeDevice({"plan_w": workspace_planner((4, 1 << 40)), "plan_l": ONE_LAUNCH, "k": doubling})
    result = run_case(device, request(workspaces=(WorkspaceSpec("part", "float", 1),)))
    assert result.verdict is Verdict.MEMORY_LIMIT
    assert [launch.kernel for launch in device.launched] == ["plan_w"]


def test_bad_geometry_is_a_launch_error_before_any_launch():
    device = FakeDevice({"plan_l": planner((0, 1, 1, 32, 1, 1, 0)), "k": doubling})
    result = run_case(device, request())
    assert result.verdict is Verdict.LAUNCH_ERROR
    assert result.message == "line 3: grid.x = 0: a grid needs at least one block"
    assert [launch.kernel for launch in device.launched] == ["plan_l"]


def test_the_second_launch_is_checked_before_the_first_runs():
    device = FakeDevice(
        {"plan_l": planner((1, 1, 1, 32, 1, 1, 0), (1, 1, 1, 512, 1, 1, 0)), "k": doubling, "m": doubling},
        kernel_attributes={"m": KernelAttributes(0, 64, 0)},
    )
    result = run_case(device, request(launches=(LaunchSpec("k", "kernel", 3), LaunchSpec("m", "merge", 4))))
    assert result.message.startswith("line 4: block of 512 x 1 x 1")
    assert [launch.kernel for launch in device.launched] == ["plan_l"]


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_a_changed_input_is_undefined_behavior_with_its_first_element(kind):
    def kernel(device, launch):
        guard = GUARD_BYTES if kind == "cuda" else 0
        device.upload(device.labels["x"] + guard + 8, struct.pack("<ff", 9.0, 9.0))

    device = FakeDevice({"plan_l": ONE_LAUNCH, "k": kernel}, kind=kind)
    result = run_case(device, request())
    assert result.verdict is Verdict.UNDEFINED_BEHAVIOR
    (diagnosis,) = result.diagnoses
    assert diagnosis.kind is DiagnosisKind.INPUT_MODIFIED
    assert (diagnosis.buffer, diagnosis.index, diagnosis.occurrences) == ("x", (1, 0), 2)


@pytest.mark.parametrize(("offset", "index", "side"), [(GUARD_BYTES + 16, 4, "after"), (GUARD_BYTES - 4, -1, "before")])
def test_a_write_into_a_guard_zone_names_the_element(offset, index, side):
    def kernel(device, launch):
        doubling(device, launch)
        device.upload(device.labels["out"] + offset, b"\0\0\0\0")

    result = run_case(FakeDevice({"plan_l": ONE_LAUNCH, "k": kernel}, kind="cuda"), request())
    assert result.verdict is Verdict.UNDEFINED_BEHAVIOR
    (diagnosis,) = result.diagnoses
    assert diagnosis.kind is DiagnosisKind.GUARD_OVERWRITTEN
    assert (diagnosis.buffer, diagnosis.index) == ("out", (index,))
    assert side in diagnosis.message


def test_diagnoses_of_a_launch_that_ended_make_undefined_behavior_and_keep_the_outputs():
    race = Diagnosis(kind=DiagnosisKind.RACE, message="two threads, one word")

    def kernel(device, launch):
        doubling(device, launch)
        return LaunchOutcome(diagnoses=[race], printed="hi")

    result = run_case(FakeDevice({"plan_l": ONE_LAUNCH, "k": kernel}), request())
    assert result.verdict is Verdict.UNDEFINED_BEHAVIOR
    assert result.message == "two threads, one word"
    assert result.outputs
    assert result.printed == "hi"


def test_a_warning_changes_no_verdict():
    odd = Diagnosis(kind=DiagnosisKind.UNINITIALIZED, message="odd", warning=True)

    def kernel(device, launch):
        doubling(device, launch)
        return LaunchOutcome(diagnoses=[odd])

    result = run_case(FakeDevice({"plan_l": ONE_LAUNCH, "k": kernel}), request())
    assert result.verdict is None
    assert result.diagnoses == (odd,)


@pytest.mark.parametrize(("kind", "words"), [("cuda", "line 3: kernel: illegal address"), ("cpu", "illegal address")])
def test_a_fault_on_a_gpu_names_the_launch_line_and_keeps_what_the_launch_reported(kind, words):
    bounds = Diagnosis(kind=DiagnosisKind.OUT_OF_BOUNDS, message="K[1000]")

    def kernel(device, launch):
        outcome = LaunchOutcome(diagnoses=[bounds], counters=Counters(flops=7), printed="before")
        raise DeviceFault("runtime_error", "illegal address", (bounds,), fatal=True, outcome=outcome)

    result = run_case(FakeDevice({"plan_l": ONE_LAUNCH, "k": kernel}, kind=kind), request())
    assert result.verdict is Verdict.RUNTIME_ERROR
    assert result.message == words
    assert result.diagnoses == (bounds,)
    assert result.counters == Counters(flops=7)
    assert result.printed == "before"
    assert result.fatal
    assert not result.outputs


def test_a_planner_that_faults_is_the_fault_of_a_launch_line():
    def broken(device, launch):
        raise DeviceFault("time_limit", "did not end")

    result = run_case(FakeDevice({"plan_l": broken, "k": doubling}), request())
    assert result.verdict is Verdict.LAUNCH_ERROR
    assert "cannot be evaluated: did not end" in result.message


class Timed(FakeDevice):
    """Counts what timing asks of it; its samples take 12.5 us and run the launches unless `idle`."""

    idle = False

    def renew(self):
        self.renewed = True

    def rival(self, image):
        raise AssertionError("no rival was asked for")

    def bench(self, rulers):
        return self

    def close(self):
        self.closed = True

    def refresh(self, address, count, element_bytes, before, now):
        data = np.frombuffer(self.download(address, count * element_bytes), np.uint32)
        self.upload(address, flipped(flipped(data, before), now).tobytes())

    def cold_sample(self, launches):
        self.seen = [*getattr(self, "seen", []), self.download(self.labels["x"] + GUARD_BYTES, 16)]
        for launch in launches if not self.idle else ():
            self.launch(launch, time_limit_s=1)
        return 12.5

    def rates_sample(self):
        return RatesSample(1.0, 1.0, 1.0, 1.0, 1.0)

    def conditions(self):
        return Conditions(clock_mhz=1980)


KEY = bytes(range(32)).hex()


def timing(**settings):
    return TimingRequest(key=KEY, budget_s=0.0, **settings)


def test_only_a_device_with_a_bench_is_timed_and_its_last_outputs_come_back():
    stages = []
    device = Timed({"plan_l": ONE_LAUNCH, "k": doubling}, kind="cuda")
    result = run_case(device, request(timing=timing()), stages.append)
    assert result.timing is not None
    assert (result.timing.median_us, result.timing.clock_mhz, result.timing.cold) == (12.5, 1980, True)
    assert np.frombuffer(result.outputs["out"], np.float32).tolist() == [0, 2, 4, 6]
    assert stages == ["running", "timing", "fetching"]
    assert device.renewed
    assert device.closed
    assert run_case(FakeDevice({"plan_l": ONE_LAUNCH, "k": doubling}), request(timing=timing())).timing is None


def test_every_repeat_has_other_numbers_and_rows_of_a_secret_third_are_kept():
    device = Timed({"plan_l": ONE_LAUNCH, "k": doubling}, kind="cuda")
    wanted = TimingRequest(key=KEY, budget_s=0.0, rows=4, signed=("x",))
    result = run_case(device, request(timing=wanted))
    assert result.verdict is None, "the inputs are in the end what they were"
    assert len(set(device.seen)) > 4, "four signs have sixteen patterns"
    secret, evidence = Secret(bytes.fromhex(KEY)), result.evidence
    assert evidence.last == len(device.seen) - 1
    first = len(device.seen) - result.timing.samples
    assert list(evidence.kept) == [n for n in range(first, evidence.last) if secret.verified(n)]
    assert first >= 1
    x = np.arange(4, dtype=np.float32)
    for place, repeat in enumerate(evidence.kept):
        rows = np.frombuffer(evidence.rows, np.float32)[4 * place : 4 * place + 4]
        assert np.array_equal(rows, 2 * flipped(x, secret.seed(repeat)))
    assert np.array_equal(np.frombuffer(result.outputs["out"], np.float32), 2 * flipped(x, secret.seed(evidence.last)))


def test_a_kernel_that_stops_writing_after_the_first_run_is_caught_by_its_last_sample():
    device = Timed({"plan_l": ONE_LAUNCH, "k": doubling}, kind="cuda")
    device.idle = True
    assert run_case(device, request(timing=timing())).outputs["out"] == b"\xff" * 16


def test_what_two_launches_read_together_is_counted_once():
    """Two launches read x in halves that overlap in 4 bytes: 20 bytes read, 16 of them different."""

    def reads(size, so_far):
        traffic = BufferTraffic(bytes_read=size, unique_bytes_read=size)
        return lambda device, launch: LaunchOutcome(
            counters=Counters(flops=1, buffers={"x": traffic}), unique_bytes_read={"x": so_far}
        )

    device = FakeDevice({"plan_l": planner(*[(1, 1, 1, 32, 1, 1, 0)] * 2), "a": reads(8, 8), "b": reads(12, 16)})
    result = run_case(device, request(launches=(LaunchSpec("a", "a", 3), LaunchSpec("b", "b", 4)), patterns=True))
    assert result.counters.buffers["x"].read_amplification == 20 / 16
    assert [counters.buffers["x"].bytes_read for counters in result.launch_counters] == [8, 12]
