"""Counters of several launches together. A worker adds with it and a report reads with it."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from judge.records import AccessPattern, BankPattern, BufferTraffic, Counters, InstructionMix, LineCounters, Record

_Sum = TypeVar("_Sum", bound=Record)


def add_counters(one: Counters, two: Counters, unique_bytes_read: Mapping[str, int] | None = None) -> Counters:
    """Counters of two launches of a case together.

    unique_bytes_read: distinct bytes that the two read together, by buffer. A buffer it does not name
    counts as if both had read the same bytes: the larger figure of the two.
    """
    known = unique_bytes_read or {}
    buffers = dict(one.buffers)
    for name, traffic in two.buffers.items():
        before = buffers.get(name, BufferTraffic())
        unique = known.get(name, max(before.unique_bytes_read, traffic.unique_bytes_read))
        read = before.bytes_read + traffic.bytes_read
        buffers[name] = BufferTraffic(
            bytes_read=read,
            bytes_written=before.bytes_written + traffic.bytes_written,
            unique_bytes_read=unique,
            read_amplification=read / unique if unique else None,
            reads=_either(before.reads, traffic.reads),
            writes=_either(before.writes, traffic.writes),
        )
    counts = {name: getattr(one, name) + getattr(two, name) for name, value in one if isinstance(value, int)}
    return Counters(
        **counts,
        instructions=add(one.instructions, two.instructions),
        shared_reads=_either(one.shared_reads, two.shared_reads),
        shared_writes=_either(one.shared_writes, two.shared_writes),
        buffers=buffers,
        lines=add_lines((*one.lines, *two.lines)),
    )


def add(one: _Sum, two: _Sum) -> _Sum:
    """Field by field; both must be records of counts alone."""
    return type(one)(**{name: value + getattr(two, name) for name, value in one})


def add_lines(lines: Iterable[LineCounters]) -> tuple[LineCounters, ...]:
    """One entry a line, in the order of the source."""
    found: dict[int, LineCounters] = {}
    for entry in lines:
        before = found.get(entry.line)
        found[entry.line] = entry if before is None else _add_line(before, entry)
    return tuple(found[line] for line in sorted(found))


def _add_line(one: LineCounters, two: LineCounters) -> LineCounters:
    return LineCounters(
        line=one.line,
        warp_instructions=one.warp_instructions + two.warp_instructions,
        thread_instructions=one.thread_instructions + two.thread_instructions,
        branches=one.branches + two.branches,
        parted_branches=one.parted_branches + two.parted_branches,
        access=add(one.access, two.access),
        shared=add(one.shared, two.shared),
        buffers=tuple(sorted({*one.buffers, *two.buffers})),
    )


def _either(one: _Sum | None, two: _Sum | None) -> _Sum | None:
    if one is None or two is None:
        return one or two
    return add(one, two)


def sectors_per_request(pattern: AccessPattern) -> float | None:
    """None without a request."""
    return pattern.sectors / pattern.requests if pattern.requests else None


def extra_wavefronts(pattern: BankPattern) -> float | None:
    """Wavefronts of bank conflicts a request; None without one."""
    return (pattern.wavefronts - pattern.ideal_wavefronts) / pattern.requests if pattern.requests else None


def shared_pattern(counters: Counters) -> BankPattern:
    """Loads and stores of shared memory together; nothing where patterns were not counted."""
    return _either(counters.shared_reads, counters.shared_writes) or BankPattern()


def active_lanes(counters: Counters | LineCounters) -> float | None:
    """Mean lanes that take part in a warp's instruction, of 32; None where nothing ran."""
    return counters.thread_instructions / counters.warp_instructions if counters.warp_instructions else None


def total_instructions(mix: InstructionMix) -> int:
    return sum(value for _, value in mix)
