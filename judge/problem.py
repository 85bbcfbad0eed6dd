"""What a problem is: the API that every folder under problems/ uses.

A problem names buffers and parameters (its kernel interface), lists cases, and gives four
functions over NumPy arrays: generate inputs, the float64 reference, a plain float32
implementation (the yardstick of the tolerance) and the least traffic a case needs.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Scalar = int | float | bool
Array = NDArray[Any]
Arrays = Mapping[str, Array]
Arithmetic = Literal["f32", "f16"]


class Role(StrEnum):
    INPUT = "input"
    OUTPUT = "output"


class Group(StrEnum):
    SAMPLE = "sample"
    HIDDEN = "hidden"
    BENCH = "bench"


_DTYPES: dict[str, tuple[type[np.generic], str]] = {
    "f32": (np.float32, "float"),
    "f64": (np.float64, "double"),
    "f16": (np.float16, "__half"),
    "bf16": (np.uint16, "__nv_bfloat16"),
    "i32": (np.int32, "int"),
    "u32": (np.uint32, "unsigned int"),
    "i64": (np.int64, "long long"),
    "u8": (np.uint8, "unsigned char"),
}


@dataclass(frozen=True)
class Buffer:
    """A device array of the kernel interface.

    dtype: f32, f64, f16, bf16, i32, u32, i64 or u8. NumPy has no bfloat16: arrays of bf16 are uint16, made and read
    by judge.bfloat16. shape: one entry a dimension, an int or the name of a parameter, or a product such as "T*B".
    axes: what one index of each dimension is called ("sequence" where the shape says num_seqs); empty: as in the shape.
    Raises ValueError for another dtype, and for axes that are not as many as the dimensions.
    """

    name: str
    dtype: str
    shape: tuple[str | int, ...]
    role: Role
    doc: str = ""
    axes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.axes and len(self.axes) != len(self.shape):
            raise ValueError(f"buffer {self.name}: {len(self.shape)} dimensions, but {len(self.axes)} names of axes")
        if self.dtype not in _DTYPES:
            raise ValueError(f"buffer {self.name}: there is no type {self.dtype!r}; use one of {', '.join(_DTYPES)}")

    @property
    def axis_names(self) -> tuple[str | int, ...]:
        """What a place in the buffer is told with: a name for each dimension, an int where it has none."""
        return self.axes or self.shape

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        return np.dtype(_DTYPES[self.dtype][0])

    @property
    def ctype(self) -> str:
        """C++ element type; inputs are handed over as pointers to non-const, as a host would."""
        return _DTYPES[self.dtype][1]

    def extent(self, parameters: Mapping[str, Scalar]) -> tuple[int, ...]:
        """The concrete shape for a case.

        Raises KeyError when a dimension names an unknown parameter.
        """
        return tuple(_dimension(entry, parameters) for entry in self.shape)


def _dimension(entry: str | int, parameters: Mapping[str, Scalar]) -> int:
    if isinstance(entry, int):
        return entry
    return math.prod(
        int(factor) if factor.strip().isdigit() else int(parameters[factor.strip()]) for factor in entry.split("*")
    )


@dataclass(frozen=True)
class Parameter:
    """A scalar of the kernel interface. A constant one is a compile-time constant of the source."""

    name: str
    ctype: Literal["int", "float", "bool"]
    constant: bool = False
    doc: str = ""


@dataclass(frozen=True)
class Case:
    """One test: parameters, an input family the problem's generator knows, and its group.

    seed: fixed for samples, so that everybody sees the same numbers; None lets the run's seed decide.
    extra: settings of the generator that are no kernel parameters (context lengths, say).
    cpu: False for cases too large for the CPU backend.
    """

    name: str
    group: Group
    parameters: Mapping[str, Scalar]
    family: str = "random"
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    doc: str = ""
    time_limit_s: float = 10.0

    @property
    def cpu(self) -> bool:
        return self.group is not Group.BENCH


@dataclass(frozen=True)
class Tolerance:
    """An element is right when |got - want| <= abs_ + rel * |want|; `reason` says why these figures."""

    abs_: float
    rel: float
    reason: str


@dataclass(frozen=True)
class Mutant:
    """A typical mistake as a float64 function with the sentence that explains it to a learner.

    compute takes the case and its inputs and returns every output. applies says whether the mistake
    shows in a case at all (a wrong KV head needs more than one); None means always. fix: what to do, the hint.
    depends_on_order: a kernel that makes the mistake may give other values, because it takes the keys in other pieces.
    """

    id: str
    sentence: str
    compute: Callable[[Case, Arrays], dict[str, Array]]
    applies: Callable[[Case], bool] | None = None
    fix: str = ""
    depends_on_order: bool = False

    @property
    def advice(self) -> str:
        """What to do about it: the fix, where it has none what follows the colon of the sentence, or all of it."""
        advice = self.fix or self.sentence.partition(": ")[2] or self.sentence
        return advice[0].upper() + advice[1:]


@dataclass(frozen=True)
class Requirement:
    """A bound on a counter of the CPU backend, checked on cases where `applies` holds.

    counter: "read_amplification" (of each buffer in `buffers`, and of scratch memory that holds a copy
    of them), "flops_ratio" or "bytes_ratio" (of the whole case, over the least the case needs),
    "flops_over_baseline" (of the whole case, over what the same submission does in the case called
    `baseline`), and four that are counted in a pass of their own, in optimized code:
    "sectors_per_request" (of each buffer in `buffers`, reads and writes apart), "requests_ratio" (reads of
    each buffer in `buffers` by warps, over as many as full warps of 16-byte loads take for the distinct
    bytes), "bank_conflicts" (extra wavefronts a request to shared memory) and "idle_lanes" (share of the
    lanes of executed warp instructions that take no part, 0 to 1).
    """

    counter: Literal[
        "read_amplification",
        "flops_ratio",
        "bytes_ratio",
        "flops_over_baseline",
        "sectors_per_request",
        "requests_ratio",
        "bank_conflicts",
        "idle_lanes",
    ]
    limit: float
    sentence: str
    buffers: tuple[str, ...] = ()
    baseline: str = ""
    applies: Callable[[Case], bool] | None = None

    @property
    def of_patterns(self) -> bool:
        """Whether it bounds what only the pass over optimized code counts."""
        return self.counter in ("sectors_per_request", "requests_ratio", "bank_conflicts", "idle_lanes")


@dataclass(frozen=True)
class Tiers:
    """Shares of the measured roofline, 0 to 1, that a bench case needs for each tier; reason says why these."""

    bronze: float
    silver: float
    gold: float
    reason: str

    def of(self, fraction: float) -> Literal["gold", "silver", "bronze"] | None:
        """The tier of a share; None below bronze."""
        if fraction >= self.gold:
            return "gold"
        if fraction >= self.silver:
            return "silver"
        return "bronze" if fraction >= self.bronze else None


class Taker(Protocol):
    """An input of a timed repeat, of which single rows are made when they are asked for."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def take(self, *leading: Any) -> Array:
        """As array[leading] with whole trailing axes; leading are integers or integer arrays, broadcast together."""
        ...


@dataclass(frozen=True)
class Timed:
    """How the bench cases of a problem are timed and their timed outputs verified.

    signed: inputs whose every element may change its sign without leaving what a kernel has to handle; each
    timed repeat has other signs, so that no answer of an earlier one is right in it. rows: outputs of a case
    all split into so many equal parts in memory, each of which the reference gives alone. reference_rows: the
    float64 values of these rows, [rows, rest of the output's row flattened], of every output.
    tiers: None where times are not ranked. arithmetic: what the operations are held against: float32 multiply-adds,
    or float16 products on tensor cores.
    """

    signed: tuple[str, ...]
    rows: Callable[[Case], int]
    reference_rows: Callable[[Case, Mapping[str, Taker], NDArray[np.int64]], dict[str, Array]]
    tiers: Tiers | None = None
    arithmetic: Arithmetic = "f32"


@dataclass(frozen=True)
class Weighed:
    """Output rows with the values that they all weigh: row r is the sum over keys j of weights[r, j] * values[j].

    rows: places in the output, its leading axes flattened. weights: float64 [rows, keys], each row's sum 1, 0 where
    masked. values: float64 [keys, D]. blocks: the physical block of each tile of keys; empty where there is none.
    """

    rows: NDArray[np.int64]
    weights: NDArray[np.float64]
    values: NDArray[np.float64]
    blocks: tuple[int, ...] = ()


@dataclass(frozen=True)
class KeyAxis:
    """How an output of a problem comes from keys, so that a report can say which of them an error comes from.

    output: the buffer, [rows down, rows across, D]. tile: keys looked at together. weighed: the chosen rows in groups
    that share their values, the groups in the order in which rows first names them, each made when it is asked for.
    down: the axis of the output, 0 or 1, that a map of the keys shows. paged: a tile is a page, and axis 0 sequences.
    """

    output: str
    tile: int
    weighed: Callable[[Case, Arrays, NDArray[np.int64]], Iterator[Weighed]]
    down: Literal[0, 1]
    paged: bool = False


@dataclass(frozen=True)
class Problem:
    id: str
    title: str
    summary: str
    buffers: tuple[Buffer, ...]
    parameters: tuple[Parameter, ...]
    cases: tuple[Case, ...]
    generate: Callable[[Case, np.random.Generator], dict[str, Array]]
    reference: Callable[[Case, Arrays], dict[str, Array]]
    naive: Callable[[Case, Arrays], dict[str, Array]]
    minimum_bytes: Callable[[Case, Arrays], int]
    minimum_flops: Callable[[Case, Arrays], int]
    tolerances: Mapping[str, Tolerance]
    mutants: tuple[Mutant, ...]
    default_launch: str
    requirements: tuple[Requirement, ...] = ()
    timed: Timed | None = None
    keys: KeyAxis | None = None
    workspace_limit_bytes: int = 64 << 20
    folder: Path = Path()
    version: str = ""

    @property
    def inputs(self) -> tuple[Buffer, ...]:
        return tuple(b for b in self.buffers if b.role is Role.INPUT)

    @property
    def outputs(self) -> tuple[Buffer, ...]:
        return tuple(b for b in self.buffers if b.role is Role.OUTPUT)

    @property
    def constants(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.constant)

    def case(self, name: str) -> Case:
        """Raises KeyError when there is no such case."""
        for case in self.cases:
            if case.name == name:
                return case
        raise KeyError(name)

    def constants_of(self, case: Case) -> tuple[tuple[str, Scalar], ...]:
        """The compile-time constants of a case, in the order of the declaration."""
        return tuple((p.name, case.parameters[p.name]) for p in self.constants)
