"""The records of a report: what the command line prints, the API returns and CI stores.

Every record is a frozen pydantic model, so that one definition gives the JSON report, its JSON
Schema (`judge schema`) and, later, the OpenAPI description. Units stand in the names of fields.
"""

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from judge.verdict import Verdict

SCHEMA_VERSION = 1


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DiagnosisKind(StrEnum):
    """What was proved or seen; the first word of every diagnosis."""

    RACE = "race"
    OUT_OF_BOUNDS = "out_of_bounds"
    MISALIGNED = "misaligned"
    UNINITIALIZED = "uninitialized"
    DIVERGENT_BARRIER = "divergent_barrier"
    DEADLOCK = "deadlock"
    UNWRITTEN = "unwritten"
    INPUT_MODIFIED = "input_modified"
    GUARD_OVERWRITTEN = "guard_overwritten"
    NONFINITE = "nonfinite"
    INT_OVERFLOW_ADDRESS = "int_overflow_address"
    TRAP = "trap"
    ASSERT = "assert"
    MUTANT_MATCH = "mutant_match"
    ORDER_DEPENDENT = "order_dependent"
    STATE_KEPT = "state_kept"


class Diagnosis(Record):
    """One fault: what happened, where in the source, who did it and to which element."""

    kind: DiagnosisKind
    message: str = Field(description="One sentence of what happened, with the usual fix after it.")
    line: int | None = Field(default=None, description="1-based line in the submission.")
    source: str | None = Field(default=None, description="Text of that line, stripped.")
    kernel: str | None = None
    block: tuple[int, int, int] | None = Field(default=None, description="blockIdx (x, y, z).")
    thread: tuple[int, int, int] | None = Field(default=None, description="threadIdx (x, y, z).")
    buffer: str | None = Field(default=None, description="Buffer or variable that was touched.")
    index: tuple[int, ...] | None = Field(
        default=None, description="Element index in the buffer's own shape, or flat if outside it."
    )
    occurrences: int = Field(default=1, ge=1, description="How often the same site did it.")
    hint: str | None = Field(default=None, description="What usually fixes it.")
    warning: bool = Field(default=False, description="True: legal but odd, no influence on the verdict.")


class CompileMessage(Record):
    line: int | None = None
    column: int | None = None
    message: str
    severity: Literal["error", "warning", "note"] = "error"


class KernelResources(Record):
    """Resources of one kernel from a cubin of the judged arch; null where no cubin was made."""

    name: str
    registers: int | None = None
    shared_bytes: int | None = None
    local_bytes: int | None = None
    spill_bytes: int | None = None
    occupancy: float | None = Field(
        default=None,
        description="Resident warps over the SM's limit, 0 to 1: of its launches, the lowest where they differ; "
        "where none ran, of blocks as large as __launch_bounds__ says (else 256) with static shared memory.",
    )


class CompileReport(Record):
    ok: bool
    seconds: float = 0.0
    cached: bool = False
    log: str = ""
    errors: tuple[CompileMessage, ...] = ()
    kernels: tuple[KernelResources, ...] = ()
    kernels_arch: str | None = Field(default=None, description="What the cubin of these resources was made for.")


class LaunchReport(Record):
    """One launch as it ran: the text of its line and the geometry the planning kernel computed."""

    text: str
    line: int | None = Field(default=None, description="Line of the @launch comment; null for the default launch.")
    kernel: str
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    shared_bytes: int | None = None


class Mismatch(Record):
    output: str
    index: tuple[int, ...]
    got: float | str = Field(description="A number, or 'nan', 'inf', '-inf'.")
    want: float | str


class FailureCell(Record):
    """A part of an output that holds wrong elements, with the worst of them."""

    row: int = Field(description="Rows row * row_step and on.")
    column: int
    wrong: int
    total: int
    index: tuple[int, ...] = Field(description="Of the worst element, in the output's own shape.")
    got: float | str = Field(description="A number, or 'nan', 'inf', '-inf'.")
    want: float | str


class KeyCell(Record):
    """Failing rows of one part of the output whose error one tile of keys explains alone."""

    row: int = Field(description="The part, as in the failure map: rows row * row_step and on.")
    column: int
    tile: int = Field(description="Keys tile * keys_in_tile and on; the logical page where tiles are pages.")
    block: int | None = Field(default=None, description="Physical block of the page, from the block table.")
    key: int | None = Field(default=None, description="The only key to blame, where one alone explains these rows.")
    rows: int = Field(description="Rows that the tile explains.")
    looked_at: int = Field(description="Failing rows of this part that were looked at.")
    share: float = Field(description="Least share of a row's squared error along what the tile can do, 0.9 to 1.")
    left_out: float = Field(
        description="Median share of the weight that is missing: 1 left out, 0.5 half of it, -1 counted twice."
    )
    index: tuple[int, ...] = Field(description="Of one such row, in the output's leading axes.")


class KeyMap(Record):
    """Which keys the error comes from, over a sample of failing rows without NaN."""

    keys: int = Field(description="The most keys that a row looked at has.")
    keys_in_tile: int
    paged: bool = Field(description="True: tiles are pages, and rows of the output sequences.")
    down: Literal[0, 1] = Field(description="Axis of the output that the map shows beside the keys.")
    looked_at: int = Field(description="Failing rows looked at.")
    explained: int = Field(description="Those that one tile, or one key, explains alone.")
    sentence: str = Field(default="", description="Where one tile explains most of the rows looked at.")
    cells: tuple[KeyCell, ...] = ()


class FailureMap(Record):
    """Where an output is wrong: its first axis down, its second across, further ones inside the cells."""

    output: str
    row_axis: str = Field(description="Name of the axis; empty where the output has only one.")
    column_axis: str
    rows: int
    columns: int
    row_step: int = Field(description="Indices of the axis in one cell.")
    column_step: int
    cells: tuple[FailureCell, ...] = Field(description="Those with something wrong.")
    keys: KeyMap | None = Field(
        default=None, description="Only of outputs that weigh values by keys, and where some tile explains a row."
    )


class ErrorSummary(Record):
    """How far the outputs are from the float64 reference."""

    max_abs: float | None = None
    max_rel: float | None = None
    norm_rel: float | None = Field(default=None, description="||got - want|| / ||want||.")
    naive_multiple: float | None = Field(
        default=None, description="max_abs over the max_abs of a plain float32 implementation."
    )
    mismatches: int = 0
    total: int = 0
    first: Mismatch | None = None
    pattern: str | None = Field(default=None, description="Where the mismatches lie, in words.")
    map: FailureMap | None = Field(
        default=None, description="Only of the case that the report explains, and of the one with the largest map."
    )


class AccessPattern(Record):
    """How warps' requests to global memory fall on its 32-byte sectors."""

    requests: int = Field(default=0, description="Accesses of warps with at least one active lane.")
    sectors: int = Field(default=0, description="Distinct 32-byte sectors, over all requests.")
    ideal_sectors: int = Field(default=0, description="The fewest sectors that hold the same bytes.")


class BankPattern(Record):
    """How warps' requests to shared memory fall on its 32 banks; atomics are left out."""

    requests: int = 0
    wavefronts: int = Field(default=0, description="Passes over the banks, over all requests.")
    ideal_wavefronts: int = Field(
        default=0, description="Passes without a conflict: 1 a request of up to 4 bytes a lane, 2 of 8, 4 of 16."
    )


class InstructionMix(Record):
    """Instructions of warps by the kind of their work. `judge test` runs unoptimized code, `judge stats` optimized."""

    memory: int = 0
    floating_point: int = 0
    integer: int = Field(default=0, description="Moves and selections included.")
    control: int = 0
    conversion: int = 0
    collective: int = Field(default=0, description="Shuffles, votes, matches and warp reductions.")
    barrier: int = Field(default=0, description="Barriers and fences.")
    special: int = Field(default=0, description="Reciprocals, roots, sine, cosine, powers and logarithms of two, tanh.")
    matrix: int = 0


class LineCounters(Record):
    """Counts of one source line, over all instructions that come from it."""

    line: int
    warp_instructions: int = 0
    thread_instructions: int = 0
    branches: int = 0
    parted_branches: int = 0
    access: AccessPattern = AccessPattern()
    shared: BankPattern = BankPattern()
    buffers: tuple[str, ...] = Field(default=(), description="Buffers that its global requests went to.")


class BufferTraffic(Record):
    """Global memory traffic of one buffer over all launches of a case (CPU backend, exact)."""

    bytes_read: int = Field(default=0, description="Bytes requested by loads, lanes on one address counted once.")
    bytes_written: int = 0
    unique_bytes_read: int = Field(default=0, description="Distinct bytes read at least once.")
    read_amplification: float | None = Field(default=None, description="bytes_read / unique_bytes_read.")
    reads: AccessPattern | None = Field(default=None, description="Null where patterns were not counted.")
    writes: AccessPattern | None = Field(default=None, description="Atomics count as writes.")


class Counters(Record):
    """Exact counts of one case on the CPU backend, all launches together, or of one launch."""

    warp_instructions: int = 0
    thread_instructions: int = 0
    instructions: InstructionMix = InstructionMix()
    flops: int = Field(default=0, description="Floating-point operations; an fma counts two.")
    branches: int = Field(default=0, description="Conditional branches of warps.")
    parted_branches: int = Field(default=0, description="Those that sent lanes of one warp different ways.")
    global_bytes_read: int = 0
    global_bytes_written: int = 0
    shared_bytes_read: int = 0
    shared_bytes_written: int = 0
    barriers: int = Field(default=0, description="Barrier arrivals of warps.")
    shared_reads: BankPattern | None = Field(default=None, description="Null where patterns were not counted.")
    shared_writes: BankPattern | None = None
    buffers: dict[str, BufferTraffic] = {}
    lines: tuple[LineCounters, ...] = Field(default=(), description="Only where patterns were counted.")


class Rates(Record):
    """What this device did while the case was timed: medians of samples taken between those of the kernel."""

    read_gbs: float = Field(description="Streaming read of memory that is not in L2, GB/s (10**9).")
    copy_gbs: float = Field(description="Device copy, bytes read plus bytes written.")
    f32_tflops: float = Field(description="Float32 multiply-adds, two operations each.")
    f16_tflops: float = Field(description="Float16 products on tensor cores, summed in float32.")
    overhead_us: float = Field(description="What an empty kernel takes between the same two events.")
    samples: int

    def tflops(self, arithmetic: Literal["f32", "f16"]) -> float:
        """TFLOP/s of an arithmetic."""
        return self.f32_tflops if arithmetic == "f32" else self.f16_tflops


class Timing(Record):
    """Kernel time of one bench case on a GPU, all launches of the case together."""

    median_us: float
    p10_us: float
    p90_us: float
    samples: int
    rel_ci95: float = Field(description="Half-width of the 95% interval of the median over the median.")
    cold: bool = Field(description="True: L2 was flushed before every sample.")
    noisy: bool = False
    noisy_because: tuple[str, ...] = ()
    clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    limited_by: tuple[str, ...] = Field(default=(), description="Why the driver held clocks down meanwhile.")
    fresh_data: bool = Field(default=False, description="True: every repeat had other numbers in its inputs.")
    verified_repeats: int = Field(default=0, description="Timed repeats whose outputs were compared with float64.")
    verified_rows: int = Field(default=0, description="Output rows compared of the last repeat.")
    rows: int = Field(default=0, description="Rows the outputs have.")
    rates: Rates | None = None
    minimum_bytes: int = Field(default=0, description="The least that any kernel moves in this case.")
    minimum_flops: int = 0
    arithmetic: Literal["f32", "f16"] = Field(
        default="f32", description="What these operations are held against: f16 means products on tensor cores."
    )
    roof_us: float | None = Field(default=None, description="The least time at the measured rates.")
    bound: Literal["memory", "compute", "launch"] | None = None
    refused: str | None = Field(default=None, description="Why this figure cannot be true, and is not ranked.")


class CaseReport(Record):
    name: str
    group: Literal["sample", "hidden", "bench"]
    verdict: Verdict
    message: str = ""
    line: int | None = Field(default=None, description="Launch or workspace line the message is about, 1-based.")
    column: int | None = Field(default=None, description="Column of the refused part of that line, 1-based.")
    backend: Literal["cpu", "cuda"]
    parameters: dict[str, int | float | bool] = {}
    seconds: float = 0.0
    schedule: int = Field(
        default=0, description="Order of blocks and warps (CPU): 0 as numbered, 1 backwards, else shuffled by it."
    )
    error: ErrorSummary | None = None
    diagnoses: tuple[Diagnosis, ...] = ()
    counters: Counters | None = None
    timing: Timing | None = None
    bandwidth_gbs: float | None = Field(default=None, description="Minimum bytes of the case over median time.")
    roofline_fraction: float | None = Field(
        default=None, description="Least time at the measured rates over median time."
    )
    tier: Literal["gold", "silver", "bronze"] | None = Field(
        default=None, description="What the share of the roofline is worth in this problem."
    )
    read_amplification: float | None = Field(
        default=None, description="The largest over the buffers a requirement names, else that of the largest input."
    )
    launches: tuple[LaunchReport, ...] = ()
    replay: str | None = Field(default=None, description="The command that runs only this case again.")
    printed: str = Field(default="", description="Output of device printf, escaped and capped.")


class BackendReport(Record):
    kind: Literal["cpu", "cuda"]
    device: str
    arch: str
    isolation: Literal["isolated", "restricted", "none"]
    isolation_reasons: tuple[str, ...] = Field(
        default=(), description="What keeps the process that ran the kernel from being cut off further."
    )


class SubmissionReport(Record):
    name: str
    sha256: str
    source_bytes: int
    default_launch: bool = False
    set_aside: tuple[str, ...] = Field(default=(), description="Host code left out, as 'lines 10-20: main'.")
    notes: tuple[str, ...] = ()


class ProblemReference(Record):
    id: str
    version: str = Field(description="Hash of everything that decides a verdict of the problem.")


class Report(Record):
    """The whole answer to one submission."""

    schema_version: Literal[1] = 1
    judge_version: str
    submission: SubmissionReport
    problem: ProblemReference
    verdict: Verdict
    message: str
    hint: str | None = None
    backend: BackendReport = Field(description="The first backend that judged.")
    backends: tuple[BackendReport, ...] = ()
    seed: int
    compile: CompileReport
    launches: tuple[LaunchReport, ...] = ()
    cases: tuple[CaseReport, ...] = ()
    tiers: dict[str, Any] = {}
    replay: str | None = None
    incident: str | None = Field(default=None, description="Set with judge_error.")
    seconds: float = 0.0


def report_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a report, as `judge schema` prints it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Report.model_json_schema(mode="serialization")}
