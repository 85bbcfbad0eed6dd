"""What supervisor and worker say to each other, and how it is laid into frames.

    worker -> supervisor   hello {device properties}       once, when the device is warm
    supervisor -> worker   load {image, source, kernels, prepared code}   answered by loaded or fault
    supervisor -> worker   case {request, inputs}          answered by stage..., result {outputs}

Expected values never go this way. A reply is parsed as hostile input: types, enum values and the
byte count of every output are checked, and anything off is a WireError.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from judge.backends.base import DeviceProperties, ModuleImage
from judge.problem import Array, Role, Scalar
from judge.records import Counters, Diagnosis, Timing
from judge.sandbox.inside import Confinement
from judge.verdict import Verdict
from judge.worker.timing_messages import Evidence, TimingRequest, checked_evidence
from judge.worker.wire import Frame, WireError

MAX_MESSAGE_CHARACTERS = 20_000


@dataclass(frozen=True)
class BufferSpec:
    """A buffer of a case; dtype is the problem's name for it ("f32"), shape is concrete."""

    name: str
    dtype: str
    ctype: str
    shape: tuple[int, ...]
    role: Role
    element_bytes: int

    @property
    def size_bytes(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count * self.element_bytes


@dataclass(frozen=True)
class ParameterValue:
    name: str
    ctype: str
    value: Scalar


@dataclass(frozen=True)
class WorkspaceSpec:
    name: str
    ctype: str
    line: int


@dataclass(frozen=True)
class LaunchSpec:
    """One launch line: the symbol to launch, and how to speak of it (line is None for a default launch)."""

    symbol: str
    name: str
    line: int | None


@dataclass(frozen=True)
class RivalSpec:
    """A second submission to be timed against the first, on the same buffers."""

    workspace_kernel: str
    launch_kernel: str
    launches: tuple[LaunchSpec, ...]
    workspaces: tuple[WorkspaceSpec, ...] = ()
    image: bytes = b""


@dataclass(frozen=True)
class CaseRequest:
    """Everything a worker needs to run one case.

    parameters: the non-constant ones, in the problem's order, as the planning kernels take them.
    time_limit_s: for all launches of the case together.
    timing: how a bench case is timed; None for a case that is not. rival: with it, what it is timed against.
    schedule: order of blocks and warps on the CPU, 0 as numbered, 1 backwards, else shuffled by it.
    patterns: count sectors and bank conflicts, and tell the counters of each launch and line.
    """

    name: str
    workspace_kernel: str
    launch_kernel: str
    launches: tuple[LaunchSpec, ...]
    parameters: tuple[ParameterValue, ...]
    buffers: tuple[BufferSpec, ...]
    inputs: Mapping[str, Array]
    workspaces: tuple[WorkspaceSpec, ...] = ()
    workspace_limit_bytes: int = 64 << 20
    time_limit_s: float = 10.0
    timing: TimingRequest | None = None
    rival: RivalSpec | None = None
    schedule: int = 0
    patterns: bool = False

    @property
    def outputs(self) -> tuple[BufferSpec, ...]:
        return tuple(buffer for buffer in self.buffers if buffer.role is Role.OUTPUT)


@dataclass(frozen=True)
class LaunchShape:
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int


@dataclass(frozen=True)
class CaseResult:
    """What became of a case in the worker.

    verdict: None when every launch ran to its end; the outputs then decide.
    launch_counters: of each launch, where patterns were asked for.
    outputs: raw bytes of every output buffer; empty when the case did not get that far. second: those of a second run
    of the same launches, where it gave others; both have to be right.
    seconds: wall time of the launches, planning kernels included.
    evidence: for the verification of a timed case. pairs: times against the rival, in microseconds.
    fatal: the device can run nothing more in its process.
    """

    verdict: Verdict | None = None
    message: str = ""
    diagnoses: tuple[Diagnosis, ...] = ()
    counters: Counters | None = None
    launch_counters: tuple[Counters, ...] = ()
    launches: tuple[LaunchShape, ...] = ()
    outputs: Mapping[str, bytes] = field(default_factory=dict)
    second: Mapping[str, bytes] = field(default_factory=dict)
    seconds: float = 0.0
    printed: str = ""
    timing: Timing | None = None
    evidence: Evidence | None = None
    pairs: tuple[tuple[float, float], ...] = ()
    fatal: bool = False
    incident: str | None = None


Isolation = Literal["isolated", "restricted", "none"]
"""How far the process is cut off from the machine; a report shows it."""

STAGES = ("running", "timing", "fetching")
"""What a worker says it is doing within a case, in this order; each has its own allowance of time."""


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


_Model = TypeVar("_Model", bound=_Wire)


class _Hello(_Wire):
    isolation: Isolation
    reasons: tuple[str, ...]
    kind: str
    name: str
    arch: str
    warp_size: int
    max_threads_per_block: int
    max_block: tuple[int, int, int]
    max_grid: tuple[int, int, int]
    max_shared_bytes: int
    memory_bytes: int
    address: str


class _Fault(_Wire):
    verdict: Verdict
    message: str
    diagnoses: tuple[Diagnosis, ...] = ()


class _Shape(_Wire):
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int


class _Result(_Wire):
    verdict: Verdict | None
    message: str
    diagnoses: tuple[Diagnosis, ...]
    counters: Counters | None
    launch_counters: tuple[Counters, ...]
    launches: tuple[_Shape, ...]
    outputs: tuple[str, ...]
    second: bool
    seconds: float
    printed: str
    timing: Timing | None
    last: int | None
    kept: tuple[int, ...]
    pairs: tuple[tuple[float, float], ...]
    fatal: bool


def _validated(model: type[_Model], body: Any) -> _Model:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise WireError(f"a reply that is no valid {model.__name__.strip('_').lower()}") from error


def hello_frame(properties: DeviceProperties, confinement: Confinement) -> dict[str, Any]:
    told = {"isolation": confinement.level, "reasons": list(confinement.reasons)}
    return {"type": "hello", "body": {**asdict(properties), **told}}


def parse_hello(frame: Frame) -> tuple[DeviceProperties, Confinement]:
    if frame.header["type"] != "hello":
        raise WireError("a worker must introduce itself first")
    hello = _validated(_Hello, frame.header.get("body"))
    properties = DeviceProperties(**hello.model_dump(exclude={"isolation", "reasons"}))
    return properties, Confinement(hello.isolation, hello.reasons)


def load_frame(image: ModuleImage, prepared: bytes = b"") -> tuple[dict[str, Any], list[bytes | memoryview]]:
    """prepared: machine code that another worker made of the same image."""
    header = {"type": "load", "kernels": dict(image.kernels)}
    return header, [image.image, image.source.encode(), prepared]


def parse_load(frame: Frame) -> tuple[ModuleImage, bytes]:
    """The module, and the machine code prepared for it."""
    image, source, prepared = frame.blobs
    return ModuleImage(bytes(image), bytes(source).decode(), frame.header["kernels"]), bytes(prepared)


def made_code(frame: Frame) -> bytes:
    """The machine code that came with a hello or loaded frame; empty where nothing new was made."""
    if len(frame.blobs) > 1:
        raise WireError("a worker sends the machine code it made as one blob")
    return bytes(frame.blobs[0]) if frame.blobs else b""


def fault_header(verdict: str, message: str, diagnoses: tuple[Diagnosis, ...]) -> dict[str, Any]:
    return {
        "type": "fault",
        "body": {
            "verdict": verdict,
            "message": message[:MAX_MESSAGE_CHARACTERS],
            "diagnoses": [diagnosis.model_dump(mode="json") for diagnosis in diagnoses],
        },
    }


def parse_fault(frame: Frame) -> tuple[Verdict, str, tuple[Diagnosis, ...]]:
    fault = _validated(_Fault, frame.header.get("body"))
    return fault.verdict, fault.message, fault.diagnoses


def case_frame(request: CaseRequest) -> tuple[dict[str, Any], list[bytes | memoryview]]:
    """inputs travel as blobs in the order of the input buffers.

    Raises ValueError when an input has another size than its buffer.
    """
    timing = None if request.timing is None else replace(request.timing, rulers=b"")
    rival = None if request.rival is None else replace(request.rival, image=b"")
    body = asdict(replace(request, inputs={}, timing=timing, rival=rival))
    if timing is not None:
        body["timing"].pop("rulers")
    if rival is not None:
        body["rival"].pop("image")
    blobs: list[bytes | memoryview] = []
    for buffer in request.buffers:
        if buffer.role is not Role.INPUT:
            continue
        array = np.ascontiguousarray(request.inputs[buffer.name])
        if array.nbytes != buffer.size_bytes:
            raise ValueError(
                f"input {buffer.name} of case {request.name} has {array.nbytes} bytes, "
                f"its shape {buffer.shape} needs {buffer.size_bytes}"
            )
        blobs.append(array.reshape(-1).view(np.uint8).data)
    if request.timing is not None:
        blobs.append(request.timing.rulers)
    if request.rival is not None:
        blobs.append(request.rival.image)
    return {"type": "case", "body": body}, blobs


def parse_case(frame: Frame) -> CaseRequest:
    """The worker's side: it trusts the supervisor."""
    body = dict(frame.header["body"])
    blobs = list(frame.blobs)
    if body["rival"] is not None:
        body["rival"] = RivalSpec(**_plans(body["rival"]), image=bytes(blobs.pop()))
    if body["timing"] is not None:
        timing = {**body["timing"], "signed": tuple(body["timing"]["signed"])}
        body["timing"] = TimingRequest(**timing, rulers=bytes(blobs.pop()))
    body |= _plans(body)
    body["parameters"] = tuple(ParameterValue(**entry) for entry in body["parameters"])
    body["buffers"] = tuple(
        BufferSpec(**{**entry, "shape": tuple(entry["shape"]), "role": Role(entry["role"])})
        for entry in body["buffers"]
    )
    names = [buffer.name for buffer in body["buffers"] if buffer.role is Role.INPUT]
    body["inputs"] = {name: np.frombuffer(blob, np.uint8) for name, blob in zip(names, blobs, strict=True)}
    return CaseRequest(**body)


def _plans(body: dict[str, Any]) -> dict[str, Any]:
    return {
        **body,
        "launches": tuple(LaunchSpec(**entry) for entry in body["launches"]),
        "workspaces": tuple(WorkspaceSpec(**entry) for entry in body["workspaces"]),
    }


def result_frame(result: CaseResult) -> tuple[dict[str, Any], list[bytes | memoryview]]:
    evidence = result.evidence
    body = {
        "verdict": result.verdict,
        "message": result.message[:MAX_MESSAGE_CHARACTERS],
        "diagnoses": [diagnosis.model_dump(mode="json") for diagnosis in result.diagnoses],
        "counters": None if result.counters is None else result.counters.model_dump(mode="json"),
        "launch_counters": [counters.model_dump(mode="json") for counters in result.launch_counters],
        "launches": [asdict(shape) for shape in result.launches],
        "outputs": list(result.outputs),
        "second": bool(result.second),
        "seconds": result.seconds,
        "printed": result.printed,
        "timing": None if result.timing is None else result.timing.model_dump(mode="json"),
        "last": None if evidence is None else evidence.last,
        "kept": [] if evidence is None else list(evidence.kept),
        "pairs": list(result.pairs),
        "fatal": result.fatal,
    }
    blobs: list[bytes | memoryview] = [*result.outputs.values(), *result.second.values()]
    if evidence is not None:
        blobs.append(evidence.rows)
    return {"type": "result", "body": body}, blobs


def parse_result(frame: Frame, request: CaseRequest) -> CaseResult:
    """The supervisor's side. Raises WireError on anything but a valid answer to this request."""
    if frame.header["type"] != "result":
        raise WireError(f"a {frame.header['type'][:40]!r} frame where a result was due")
    body = _validated(_Result, frame.header.get("body"))
    blobs = list(frame.blobs)
    evidence = None
    if body.last is not None and blobs:
        sizes_of_outputs = [buffer.size_bytes for buffer in request.outputs]
        evidence = checked_evidence(request.timing, sizes_of_outputs, body.last, body.kept, bytes(blobs.pop()))
    outputs = _outputs(request, body, blobs[: len(body.outputs)])
    second = blobs[len(body.outputs) :]
    if bool(second) is not body.second:
        raise WireError("the outputs of a second run are not there, or were not told of")
    return CaseResult(
        verdict=body.verdict,
        message=body.message,
        diagnoses=body.diagnoses,
        counters=body.counters,
        launch_counters=body.launch_counters,
        launches=tuple(LaunchShape(shape.grid, shape.block, shape.shared_bytes) for shape in body.launches),
        outputs=outputs,
        second=_outputs(request, body, second) if second else {},
        seconds=body.seconds,
        printed=body.printed,
        timing=body.timing,
        evidence=evidence,
        pairs=body.pairs,
        fatal=body.fatal,
    )


def _outputs(request: CaseRequest, body: _Result, blobs: Sequence[memoryview]) -> dict[str, bytes]:
    """Raises WireError unless these are all outputs of the request, or none where the case has a verdict."""
    sizes = {buffer.name: buffer.size_bytes for buffer in request.outputs}
    got = {name: blob.nbytes for name, blob in zip(body.outputs, blobs, strict=False)}
    if not len(blobs) == len(body.outputs) == len(got) or (got != sizes and (got or body.verdict is None)):
        raise WireError("the outputs of a result are not the ones that were asked for")
    return {name: bytes(blob) for name, blob in zip(body.outputs, blobs, strict=True)}
