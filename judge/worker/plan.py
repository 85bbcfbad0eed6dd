"""Launch plans: what the planning kernels computed, read back and held against the limits.

The compiler evaluated the learner's expressions in device code, so any 64-bit value can come back:
0, negative, 2**40. Each refusal names the launch line, the figure and the limit.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from judge.backends.base import DeviceFault, DeviceProperties, KernelAttributes, Launch
from judge.worker.messages import LaunchSpec, ParameterValue, WorkspaceSpec

ARGUMENT_BLOCK_BYTES = 4096
"""Room of one launch's argument block in the planning kernel's output; CUDA's own limit of parameters."""

MAX_STATIC_SHARED_BYTES = 48 * 1024
"""Every CUDA device's limit of `__shared__` arrays; what is above has to be dynamic."""

GEOMETRY_WORDS = 8
WORKSPACE_WORDS = 2

CPU_THREAD_LIMIT = 1 << 23
"""Threads of one launch the CPU backend takes: about ten seconds of a kernel that does next to nothing."""

_FORMATS = {"int": ("i", 4), "float": ("f", 4), "bool": ("?", 1), "pointer": ("Q", 8)}


def pack_arguments(values: Sequence[tuple[str, int | float | bool]]) -> bytes:
    """A kernel's parameter block: each value at its natural alignment.

    values: (ctype, value) in order; ctype is "int", "float", "bool" or "pointer".
    """
    block = bytearray()
    for ctype, value in values:
        code, size = _FORMATS[ctype]
        block.extend(bytes(-len(block) % size))
        block.extend(struct.pack(f"<{code}", value))
    return bytes(block)


def parameter_values(parameters: Sequence[ParameterValue]) -> list[tuple[str, int | float | bool]]:
    return [(parameter.ctype, parameter.value) for parameter in parameters]


@dataclass(frozen=True)
class WorkspaceSize:
    spec: WorkspaceSpec
    element_bytes: int
    count: int

    @property
    def size_bytes(self) -> int:
        return self.element_bytes * self.count


def read_workspaces(out: bytes, specs: Sequence[WorkspaceSpec], limit_bytes: int) -> list[WorkspaceSize]:
    """Sizes of the workspaces from the planning kernel's words.

    Raises DeviceFault ("launch_error" for a negative count, "memory_limit" over the problem's cap).
    """
    words = struct.unpack(f"<{WORKSPACE_WORDS * len(specs)}q", out)
    sizes = [WorkspaceSize(spec, words[2 * i], words[2 * i + 1]) for i, spec in enumerate(specs)]
    for size in sizes:
        if size.count < 0:
            raise DeviceFault(
                "launch_error",
                f"line {size.spec.line}: workspace {size.spec.name} has {size.count} elements; "
                "its count must not be negative",
            )
    total = sum(size.size_bytes for size in sizes)
    if total > limit_bytes:
        largest = max(sizes, key=lambda size: size.size_bytes)
        raise DeviceFault(
            "memory_limit",
            f"line {largest.spec.line}: workspace {largest.spec.name} has {largest.count} elements "
            f"({in_bytes(largest.size_bytes)}); all workspaces together need {in_bytes(total)}, "
            f"this problem allows {in_bytes(limit_bytes)}",
        )
    return sizes


def in_bytes(count: int) -> str:
    """A byte count as a person reads it, exact below 10 KiB."""
    if count < 10 * 1024:
        return f"{count} bytes"
    for unit, size in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    raise AssertionError("unreachable")


def read_launches(geometry: bytes, arguments: bytes, specs: Sequence[LaunchSpec]) -> list[Launch]:
    """The launches as the planning kernel wrote them, not yet checked against any limit.

    Values may not fit a device's registers; check_launch refuses those.
    """
    launches = []
    for j, spec in enumerate(specs):
        words = struct.unpack_from(f"<{GEOMETRY_WORDS}q", geometry, 8 * GEOMETRY_WORDS * j)
        size = words[7]
        if not 0 <= size <= ARGUMENT_BLOCK_BYTES:
            raise DeviceFault(
                "launch_error",
                f"{where(spec)}the arguments need {size} bytes, CUDA allows {ARGUMENT_BLOCK_BYTES}",
            )
        start = ARGUMENT_BLOCK_BYTES * j
        launches.append(
            Launch(
                kernel=spec.symbol,
                grid=(words[0], words[1], words[2]),
                block=(words[3], words[4], words[5]),
                shared_bytes=words[6],
                arguments=arguments[start : start + size],
            )
        )
    return launches


def where(spec: LaunchSpec) -> str:
    """How a message begins: 'line 3: ', or 'default launch: ' where the submission has no launch line."""
    return f"line {spec.line}: " if spec.line is not None else "default launch: "


def check_launch(launch: Launch, spec: LaunchSpec, attributes: KernelAttributes, properties: DeviceProperties) -> None:
    """Raises DeviceFault ("launch_error", or "time_limit" for a grid too large to emulate)."""
    problem = (
        _extent_problem("grid", launch.grid, properties.max_grid, "a grid needs at least one block")
        or _extent_problem("block", launch.block, properties.max_block, "a block needs at least one thread")
        or _block_problem(launch, attributes, properties)
        or _shared_problem(launch, attributes, properties)
    )
    if problem:
        raise DeviceFault("launch_error", f"{where(spec)}{problem}")
    if attributes.parameter_bytes and len(launch.arguments) != attributes.parameter_bytes:
        raise DeviceFault(
            "launch_error",
            f"{where(spec)}the arguments have {len(launch.arguments)} bytes, {spec.name} takes "
            f"{attributes.parameter_bytes}. A launch line must not write to anything, nor use names of the judge's own",
        )
    total = threads_of(launch)
    if properties.kind == "cpu" and total > CPU_THREAD_LIMIT:
        raise DeviceFault(
            "time_limit",
            f"{where(spec)}{total} threads; the CPU backend emulates every one of them and takes at most "
            f"{CPU_THREAD_LIMIT} a launch. Launch fewer, or judge it on a GPU with --backend cuda",
        )


def threads_of(launch: Launch) -> int:
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    return blocks * launch.block[0] * launch.block[1] * launch.block[2]


def _extent_problem(what: str, extents: tuple[int, int, int], limits: tuple[int, int, int], least: str) -> str | None:
    for axis, extent, limit in zip("xyz", extents, limits, strict=True):
        if extent < 1:
            return f"{what}.{axis} = {extent}: {least}"
        if extent > limit and what == "grid":
            return f"grid.{axis} = {extent}, the limit is {limit}"
    return None


def _block_problem(launch: Launch, attributes: KernelAttributes, properties: DeviceProperties) -> str | None:
    x, y, z = launch.block
    threads = x * y * z
    device_limit, kernel_limit = properties.max_threads_per_block, attributes.max_threads_per_block
    shape = f"block of {x} x {y} x {z} = {threads} threads"
    allowed = f"this device allows {device_limit} a block"
    narrower = 0 < kernel_limit < device_limit
    if threads > device_limit:
        return f"{shape}; {allowed}" + (f" (the kernel's __launch_bounds__ allows {kernel_limit})" if narrower else "")
    for axis, extent, limit in zip("xyz", launch.block, properties.max_block, strict=True):
        if extent > limit:
            return f"block.{axis} = {extent}, the limit is {limit}"
    if narrower and threads > kernel_limit:
        return f"{shape}; {allowed}, but the kernel only {kernel_limit}: its __launch_bounds__ or registers say so"
    return None


def _shared_problem(launch: Launch, attributes: KernelAttributes, properties: DeviceProperties) -> str | None:
    static, dynamic = attributes.static_shared_bytes, launch.shared_bytes
    if dynamic < 0:
        return f"shared memory of {dynamic} bytes: the size must not be negative"
    if static > MAX_STATIC_SHARED_BYTES:
        return (
            f"static shared memory {static} bytes, the limit is {MAX_STATIC_SHARED_BYTES}; "
            "take more with `extern __shared__` and the third launch figure"
        )
    total, limit = static + dynamic, properties.max_shared_bytes
    if total <= limit:
        return None
    parts = f" ({static} static + {dynamic} dynamic)" if static and dynamic else ""
    return f"shared memory {total} bytes{parts}, the limit is {limit}"
