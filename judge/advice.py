"""What to do about a bad figure, one line each; a good figure gets none.

A figure is judged only where it weighs: a buffer with a small part of the traffic may be read as it likes.
"""

from collections.abc import Callable, Iterator, Sequence

from judge.figures import Advice, LaunchStatistics
from judge.records import AccessPattern, BufferTraffic, Counters, LineCounters
from judge.tallies import active_lanes, extra_wavefronts, sectors_per_request, shared_pattern

WEIGHT = 0.1
"""Share of the case's global traffic from which on a buffer matters."""

MAX_AMPLIFICATION = 1.5
MAX_SECTOR_RATIO = 1.25
MAX_EXTRA_WAVEFRONTS = 0.1
MIN_ACTIVE_LANES = 28.0
MIN_OCCUPANCY = 0.5
MAX_FLOPS_RATIO = 1.75

MIN_INTENSITY = 10.0
"""FLOPs for each byte that the case needs, below which memory sets the time of any GPU and FLOPs are free."""

_FREE = {
    "registers": "hold less in registers at a time, or cap them with __launch_bounds__",
    "shared memory": "use smaller tiles or smaller types",
    "blocks": "use larger blocks",
    "warps": "choose a block size that divides the warps of an SM",
}


def advise(
    launches: Sequence[LaunchStatistics],
    counters: Counters,
    lines: Sequence[LineCounters],
    *,
    minimum_bytes: int,
    minimum_flops: int,
) -> tuple[Advice, ...]:
    """counters and lines: of all launches together."""
    found = [entry for launch in launches for entry in _of_launch(launch)]
    ratio = counters.flops / max(1, minimum_flops)
    if ratio > MAX_FLOPS_RATIO and counters.flops >= MIN_INTENSITY * minimum_bytes:
        message = (
            f"{ratio:.2f} times the FLOPs that the case needs: skip work that is masked, thrown away or done alike "
            "by many lanes."
        )
        found.append(Advice(table="work", subject="the case", message=message))
    return (*found, *_of_buffers(counters, lines))


def _of_launch(launch: LaunchStatistics) -> Iterator[Advice]:
    resident, counters, lines = launch.residency, launch.counters, launch.counters.lines
    if resident is not None:
        if resident.spill_bytes:
            message = f"{resident.spill_bytes} bytes are spilled to local memory: hold less in registers at a time."
            yield Advice(table="launches", subject=launch.kernel, message=message)
        if resident.blocks == 0:
            message = f"not one block fits on an SM: too much {' and '.join(resident.limited_by)}."
            yield Advice(table="launches", subject=launch.kernel, message=message)
        elif resident.occupancy < MIN_OCCUPANCY:
            ways = "; ".join(_FREE[name] for name in resident.limited_by)
            message = f"{resident.warps} of {resident.max_warps} warps an SM: to hide more latency, {ways}."
            yield Advice(table="launches", subject=launch.kernel, message=message)
    lanes = active_lanes(counters)
    if lanes is not None and lanes < MIN_ACTIVE_LANES:
        yield _idle_lanes(launch, lanes)
    extra = extra_wavefronts(shared_pattern(counters))
    if extra is not None and extra > MAX_EXTRA_WAVEFRONTS:
        worst = _worst(lines, lambda entry: entry.shared.wavefronts - entry.shared.ideal_wavefronts)
        message = (
            f"{extra:.1f} extra wavefronts a shared request: lanes meet in one bank. Pad the rows of the tile "
            "by one element, or swizzle the columns."
        )
        yield Advice(table="work", subject=launch.kernel, message=message, line=worst)


def _idle_lanes(launch: LaunchStatistics, lanes: float) -> Advice:
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    rest = threads % 32
    if rest and threads < 32:
        message = (
            f"{lanes:.1f} of 32 lanes work: a block has {threads} threads, {32 - rest} lanes of its warp are empty."
        )
        return Advice(table="work", subject=launch.kernel, message=message)
    worst = _worst(launch.counters.lines, lambda entry: 32 * entry.warp_instructions - entry.thread_instructions)
    message = f"{lanes:.1f} of 32 lanes work: let the lanes of a warp take the same branches and loops of one length."
    return Advice(table="work", subject=launch.kernel, message=message, line=worst)


def _of_buffers(counters: Counters, lines: Sequence[LineCounters]) -> Iterator[Advice]:
    moved = counters.global_bytes_read + counters.global_bytes_written
    sectors = sum(_sectors(traffic) for traffic in counters.buffers.values())
    for name, traffic in counters.buffers.items():
        weighs = traffic.bytes_read + traffic.bytes_written >= WEIGHT * moved
        amplification = traffic.read_amplification or 0.0
        if weighs and amplification > MAX_AMPLIFICATION:
            message = (
                f"read {amplification:.1f} times over: let one load serve more threads and blocks, through shared "
                "memory or registers."
            )
            yield Advice(table="buffers", subject=name, message=message)
        if _sectors(traffic) < WEIGHT * sectors:
            continue
        for what, pattern in (("read", traffic.reads), ("write", traffic.writes)):
            if pattern is not None and pattern.sectors > MAX_SECTOR_RATIO * pattern.ideal_sectors:
                line = _worst([entry for entry in lines if name in entry.buffers], _extra_sectors)
                yield Advice(table="buffers", subject=name, message=_scattered(what, pattern), line=line)


def _scattered(what: str, pattern: AccessPattern) -> str:
    figure, ideal = sectors_per_request(pattern), pattern.ideal_sectors / pattern.requests
    return (
        f"a {what} takes {figure:.1f} sectors where {ideal:.1f} would do: let neighbouring lanes {what} neighbouring "
        "elements."
    )


def _extra_sectors(entry: LineCounters) -> int:
    return entry.access.sectors - entry.access.ideal_sectors


def _sectors(traffic: BufferTraffic) -> int:
    return sum(pattern.sectors for pattern in (traffic.reads, traffic.writes) if pattern is not None)


def _worst(lines: Sequence[LineCounters], cost: Callable[[LineCounters], int]) -> int | None:
    """The line that costs most; None where none costs anything."""
    worst = max(lines, key=cost, default=None)
    return worst.line if worst is not None and cost(worst) > 0 else None
