"""From what a launch counted to the counters of a report: buffers by name, instructions by source line."""

from judge.backends.cpu import ir
from judge.backends.cpu.addresses import MODULE_SLOT, SHARED_SLOT
from judge.backends.cpu.counting import is_branch
from judge.backends.cpu.diagnose import line_of
from judge.backends.cpu.executor import LaunchResult
from judge.backends.cpu.memory import DeviceMemory
from judge.backends.cpu.traffic import Pattern, PatternTable, SlotTraffic
from judge.records import AccessPattern, BankPattern, BufferTraffic, Counters, InstructionMix, LineCounters
from judge.tallies import add_lines

VARIABLES = "__device__ variables"


def launch_counters(result: LaunchResult, kernel: ir.Kernel, memory: DeviceMemory, source_name: str) -> Counters:
    """kernel: as it was run. source_name: the file whose lines count; a header's go to where it was called."""
    patterns = result.patterns
    buffers = {}
    for slot, traffic in sorted(result.traffic.items()):
        name = buffer_name(slot, memory)
        if name is not None and (slot != MODULE_SLOT or traffic.read or traffic.written):
            buffers[name] = _buffer(traffic, slot, patterns)
    counts = result.counts
    shared = patterns.of_slot(SHARED_SLOT) if patterns else None
    return Counters(
        warp_instructions=counts.warp_instructions,
        thread_instructions=counts.thread_instructions,
        instructions=InstructionMix(**counts.classes),
        flops=counts.flops,
        branches=counts.branches,
        parted_branches=counts.parted_branches,
        global_bytes_read=sum(b.bytes_read for b in buffers.values()),
        global_bytes_written=sum(b.bytes_written for b in buffers.values()),
        shared_bytes_read=counts.shared_bytes_read,
        shared_bytes_written=counts.shared_bytes_written,
        barriers=counts.barriers,
        shared_reads=_banks(shared[0]) if shared else None,
        shared_writes=_banks(shared[1]) if shared else None,
        buffers=buffers,
        lines=_lines(result, kernel, patterns, memory, source_name) if patterns else (),
    )


def buffer_name(slot: int, memory: DeviceMemory) -> str | None:
    """What a report calls an allocation; all `__device__` variables are one. None for the judge's own."""
    if slot == MODULE_SLOT:
        return VARIABLES
    label = memory.labels.get(slot)
    return label.name if label is not None and label.role != "internal" else None


def _buffer(traffic: SlotTraffic, slot: int, patterns: PatternTable | None) -> BufferTraffic:
    reads, writes = patterns.of_slot(slot) if patterns else (None, None)
    return BufferTraffic(
        bytes_read=traffic.read,
        bytes_written=traffic.written,
        unique_bytes_read=traffic.unique_read,
        read_amplification=traffic.read / traffic.unique_read if traffic.unique_read else None,
        reads=_sectors(reads) if reads else None,
        writes=_sectors(writes) if writes else None,
    )


def _lines(
    result: LaunchResult, kernel: ir.Kernel, patterns: PatternTable, memory: DeviceMemory, source_name: str
) -> tuple[LineCounters, ...]:
    counts = result.instructions
    assert counts is not None
    entries = []
    for index, instruction in enumerate(kernel.instructions):
        line = line_of(kernel, index, source_name) if counts.warps[index] else None
        if line is None:
            continue
        access, shared = patterns.of_instruction(index)
        label = memory.labels.get(patterns.slot_of_instruction(index))
        entries.append(
            LineCounters(
                line=line,
                warp_instructions=counts.warps[index],
                thread_instructions=counts.lanes[index],
                branches=counts.warps[index] if is_branch(instruction) else 0,
                parted_branches=counts.parted[index],
                access=_sectors(access),
                shared=_banks(shared),
                buffers=(label.name,) if label is not None else (),
            )
        )
    return add_lines(entries)


def _sectors(pattern: Pattern) -> AccessPattern:
    return AccessPattern(requests=pattern.requests, sectors=pattern.parts, ideal_sectors=pattern.fewest)


def _banks(pattern: Pattern) -> BankPattern:
    return BankPattern(requests=pattern.requests, wavefronts=pattern.parts, ideal_wavefronts=pattern.fewest)
