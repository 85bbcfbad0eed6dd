"""Messages come back equal; a reply that does not fit its request is refused."""

import json

import numpy as np
import pytest

from judge.backends.base import DeviceProperties, ModuleImage
from judge.problem import Role
from judge.records import (
    AccessPattern,
    BankPattern,
    BufferTraffic,
    Counters,
    Diagnosis,
    DiagnosisKind,
    LineCounters,
    Timing,
)
from judge.sandbox.inside import Confinement
from judge.timing.secret import Secret
from judge.verdict import Verdict
from judge.worker.messages import (
    BufferSpec,
    CaseRequest,
    CaseResult,
    LaunchShape,
    LaunchSpec,
    ParameterValue,
    RivalSpec,
    WorkspaceSpec,
    case_frame,
    fault_header,
    hello_frame,
    load_frame,
    made_code,
    parse_case,
    parse_fault,
    parse_hello,
    parse_load,
    parse_result,
    result_frame,
)
from judge.worker.timing_messages import Evidence, TimingRequest
from judge.worker.wire import Frame, WireError

REQUEST = CaseRequest(
    name="n=1",
    workspace_kernel="w",
    launch_kernel="l",
    launches=(LaunchSpec("_Z1kv", "k<64>", 3), LaunchSpec("_Z1mv", "m", None)),
    parameters=(ParameterValue("n", "int", 3), ParameterValue("causal", "bool", True)),
    buffers=(
        BufferSpec("x", "f32", "float", (2, 3), Role.INPUT, 4),
        BufferSpec("empty", "i32", "int", (0,), Role.INPUT, 4),
        BufferSpec("out", "f32", "float", (2,), Role.OUTPUT, 4),
    ),
    inputs={"x": np.ones((2, 3), np.float32), "empty": np.zeros(0, np.int32)},
    workspaces=(WorkspaceSpec("part", "float", 1),),
    timing=TimingRequest(key="00" * 32, budget_s=0.5, rows=2, signed=("x",), rulers=b"cubin"),
    rival=RivalSpec("w2", "l2", (LaunchSpec("_Z1r", "r", 4),), (WorkspaceSpec("q", "int", 2),), b"other cubin"),
    schedule=11,
    patterns=True,
)

SECRET = Secret(bytes.fromhex(REQUEST.timing.key))
VERIFIED = next(n for n in range(20, 99) if SECRET.verified(n))
UNVERIFIED = next(n for n in range(20, 99) if not SECRET.verified(n))

RESULT = CaseResult(
    message="m",
    diagnoses=(Diagnosis(kind=DiagnosisKind.RACE, message="r", index=(1, 2), thread=(3, 0, 0)),),
    counters=Counters(flops=3),
    launch_counters=(
        Counters(
            flops=3,
            shared_reads=BankPattern(requests=1, wavefronts=32, ideal_wavefronts=1),
            buffers={"x": BufferTraffic(reads=AccessPattern(requests=1, sectors=5, ideal_sectors=4))},
            lines=(LineCounters(line=3, branches=2, parted_branches=1),),
        ),
    ),
    launches=(LaunchShape((1, 2, 3), (4, 5, 6), 7),),
    outputs={"out": b"12345678"},
    seconds=0.5,
    printed="hello",
    evidence=Evidence(99, (VERIFIED,), b"abcdefgh"),
    pairs=((1.0, 2.0), (3.0, 4.0)),
    timing=Timing(median_us=1, p10_us=1, p90_us=2, samples=20, rel_ci95=0.01, cold=True),
)


def over_the_wire(header, blobs=()):
    """What the other side sees: JSON text and plain bytes."""
    return Frame(json.loads(json.dumps(header)), tuple(memoryview(bytes(blob)) for blob in blobs))


def test_a_request_comes_back_equal():
    got = parse_case(over_the_wire(*case_frame(REQUEST)))
    assert got.inputs["x"].tobytes() == np.ones(6, np.float32).tobytes()
    assert got.inputs["empty"].size == 0
    for name in set(CaseRequest.__dataclass_fields__) - {"inputs"}:
        assert getattr(got, name) == getattr(REQUEST, name)


def test_an_input_of_the_wrong_size_is_not_sent():
    broken = CaseRequest(**{**vars(REQUEST), "inputs": {**REQUEST.inputs, "x": np.ones(5, np.float32)}})
    with pytest.raises(ValueError, match="input x of case n=1 has 20 bytes"):
        case_frame(broken)


def test_a_result_comes_back_equal():
    assert parse_result(over_the_wire(*result_frame(RESULT)), REQUEST) == RESULT


def test_the_outputs_of_a_second_run_come_beside_those_of_the_first():
    both = CaseResult(outputs={"out": b"12345678"}, second={"out": b"87654321"})
    assert parse_result(over_the_wire(*result_frame(both)), REQUEST) == both


@pytest.mark.parametrize("second", [{"out": b"1234567"}, {"out": b"1" * 16}])
def test_a_second_run_has_the_outputs_that_were_asked_for(second):
    result = CaseResult(outputs={"out": b"12345678"}, second=second)
    with pytest.raises(WireError, match="not the ones"):
        parse_result(over_the_wire(*result_frame(result)), REQUEST)


@pytest.mark.parametrize(("told", "second"), [(True, {}), (False, {"out": b"87654321"})])
def test_a_second_run_that_is_told_of_has_outputs(told, second):
    header, blobs = result_frame(CaseResult(outputs={"out": b"12345678"}, second=second))
    header["body"]["second"] = told
    with pytest.raises(WireError, match="second run"):
        parse_result(over_the_wire(header, blobs), REQUEST)


def test_a_verdict_needs_no_outputs():
    bare = CaseResult(verdict=Verdict.RUNTIME_ERROR, message="m", fatal=True)
    assert parse_result(over_the_wire(*result_frame(bare)), REQUEST) == bare


@pytest.mark.parametrize(
    "outputs",
    [{}, {"out": b"1234567"}, {"out": b"123456789"}, {"other": b"12345678"}, {"out": b"12345678", "more": b""}],
)
def test_outputs_that_were_not_asked_for_are_refused(outputs):
    with pytest.raises(WireError, match="not the ones"):
        parse_result(over_the_wire(*result_frame(CaseResult(outputs=outputs))), REQUEST)


@pytest.mark.parametrize(
    "change",
    [{"verdict": "great"}, {"verdict": 3}, {"seconds": "long"}, {"more": 1}, {"timing": {"median_us": "fast"}}],
)
def test_a_result_with_wrong_fields_is_refused(change):
    header, blobs = result_frame(RESULT)
    header["body"] |= change
    with pytest.raises(WireError):
        parse_result(over_the_wire(header, blobs), REQUEST)


def test_two_outputs_under_one_name_are_refused():
    header, _ = result_frame(RESULT)
    header["body"]["outputs"] = ["out", "out"]
    with pytest.raises(WireError):
        parse_result(over_the_wire(header, [b"12345678", b"12345678"]), REQUEST)


@pytest.mark.parametrize(
    "evidence",
    [
        Evidence(99, (UNVERIFIED,), b"12345678"),
        Evidence(99, (VERIFIED, VERIFIED), b"12345678" * 2),
        Evidence(VERIFIED, (VERIFIED,), b"12345678"),
        Evidence(99, (VERIFIED,), b"1234567"),
    ],
)
def test_evidence_that_was_not_asked_for_is_refused(evidence):
    with pytest.raises(WireError, match="evidence"):
        parse_result(over_the_wire(*result_frame(CaseResult(**{**vars(RESULT), "evidence": evidence}))), REQUEST)


def test_another_message_is_no_result():
    with pytest.raises(WireError, match="where a result was due"):
        parse_result(over_the_wire({"type": "loaded"}), REQUEST)


def test_hello_load_and_fault_come_back_equal():
    properties = DeviceProperties(kind="cpu", name="a CPU", arch="compute_90", memory_bytes=5)
    confinement = Confinement("restricted", ("there is no box", "another reason"))
    assert parse_hello(over_the_wire(hello_frame(properties, confinement))) == (properties, confinement)
    image = ModuleImage(b"\0ptx", "// \N{GREEK SMALL LETTER ALPHA}", {"k<1>": "_Z1k"})
    assert parse_load(over_the_wire(*load_frame(image))) == (image, b"")
    assert parse_load(over_the_wire(*load_frame(image, b"\x7fELF"))) == (image, b"\x7fELF")
    diagnoses = (Diagnosis(kind=DiagnosisKind.TRAP, message="t", line=3),)
    header = fault_header("compile_error", "not emulated", diagnoses)
    assert parse_fault(over_the_wire(header)) == (Verdict.COMPILE_ERROR, "not emulated", diagnoses)


@pytest.mark.parametrize("body", [None, {}, {"kind": "cpu"}])
def test_a_bad_hello_is_refused(body):
    with pytest.raises(WireError):
        parse_hello(over_the_wire({"type": "hello", "body": body}))


def test_made_code_is_one_blob_or_none():
    assert made_code(over_the_wire({"type": "loaded"})) == b""
    assert made_code(over_the_wire({"type": "loaded"}, [b"code"])) == b"code"
    with pytest.raises(WireError, match="one blob"):
        made_code(over_the_wire({"type": "loaded"}, [b"code", b"more"]))
