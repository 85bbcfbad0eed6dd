"""What each kernel of a cubin needs: registers, shared and local memory, spills, occupancy.

Read from the ELF file NVRTC made; only the spilled bytes come from ptxas's own report in the log. The
file was made from a stranger's source by our compiler, so it is parsed with every bound checked.
"""

import math
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from judge.compiler.occupancy import occupancy
from judge.records import CompileReport, KernelResources, LaunchReport

_SHT_NOBITS = 8
_EIATTR_REGCOUNT = 0x2F
_EIATTR_FRAME_SIZE = 0x11
_EIATTR_MAX_THREADS = 0x05
_EIFMT_SIZED = 0x04
_VALUES_IN_HEAD = 4

_DATA_SECTIONS = (".nv.global", ".nv.global.init", ".nv.constant3")

# From sm_90 on a kernel's shared section begins with what the system keeps for itself.
_RESERVED_SYMBOL = ".nv.reservedSmem.offset0"
_RESERVED_BYTES = 1024

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    size: int
    data: bytes


@dataclass(frozen=True)
class _Symbol:
    """section: the place of its section in the file. size: in bytes."""

    name: str
    section: int
    size: int


def kernel_resources(cubin: bytes, log: str, lowered: Mapping[str, str], arch: str) -> tuple[KernelResources, ...]:
    """The resources of the kernels in `lowered` (name expression to symbol), in its order.

    A figure the file does not tell is None. occupancy is for blocks of the size __launch_bounds__ states,
    256 threads without it, and for static shared memory only.
    """
    sections = {section.name: section for section in _sections(cubin)}
    spills = _spilled(log)
    frames = _by_kernel(sections, _EIATTR_FRAME_SIZE)
    registers_of = _by_kernel(sections, _EIATTR_REGCOUNT)
    named = {symbol.name for symbol in _symbols(sections)}
    reserved = _RESERVED_BYTES if _RESERVED_SYMBOL in named else 0
    found = []
    for expression, symbol in lowered.items():
        if f".text.{symbol}" not in sections:
            continue
        registers = registers_of.get(symbol)
        shared = sections.get(f".nv.shared.{symbol}")
        shared_bytes = max(shared.size - reserved, 0) if shared is not None else 0
        threads = _most_threads(sections.get(f".nv.info.{symbol}"))
        resident = occupancy(registers, shared_bytes, threads, arch) if registers else None
        found.append(
            KernelResources(
                name=expression,
                registers=registers,
                shared_bytes=shared_bytes,
                local_bytes=frames.get(symbol),
                spill_bytes=spills.get(symbol),
                occupancy=resident.share if resident else None,
            )
        )
    return tuple(found)


def with_launches(report: CompileReport, launches: Iterable[LaunchReport]) -> CompileReport:
    """The report with the occupancy of launches that ran, the lowest of a kernel's; unlaunched kernels keep theirs."""
    ran = list(launches)
    return report.model_copy(
        update={"kernels": tuple(_as_launched(kernel, ran, report.kernels_arch or "") for kernel in report.kernels)}
    )


def _as_launched(kernel: KernelResources, launches: Iterable[LaunchReport], arch: str) -> KernelResources:
    if kernel.registers is None:
        return kernel
    residents = [
        occupancy(
            kernel.registers,
            (kernel.shared_bytes or 0) + (launch.shared_bytes or 0),
            math.prod(launch.block),
            arch,
        )
        for launch in launches
        if launch.kernel == kernel.name and launch.block is not None
    ]
    shares = [resident.share for resident in residents if resident is not None]
    return kernel.model_copy(update={"occupancy": min(shares)}) if shares else kernel


def device_data_bytes(cubin: bytes) -> int:
    """Bytes of __device__ and __constant__ variables in a cubin.

    ptxas keeps 32 bits of a section's size and all of a variable's, so both are asked.
    """
    sections = list(_sections(cubin))
    kept = {place for place, section in enumerate(sections) if section.name in _DATA_SECTIONS}
    symbols = _symbols({section.name: section for section in sections})
    variables = sum(symbol.size for symbol in symbols if symbol.section in kept)
    return max(variables, sum(sections[place].size for place in kept))


def has_kernel(cubin: bytes, symbol: str) -> bool:
    return any(section.name == f".text.{symbol}" for section in _sections(cubin))


def _spilled(log: str) -> dict[str, int]:
    """Bytes spilled by symbol, stores and loads together, from ptxas's report."""
    found = {}
    symbol = None
    for line in log.split("\n"):
        if match := _ENTRY.search(line):
            symbol = match.group(1)
        elif symbol is not None and (match := _SPILLS.search(line)):
            found[symbol] = int(match.group(1)) + int(match.group(2))
            symbol = None
    return found


def _sections(image: bytes) -> Iterator[_Section]:
    """The sections of a 64-bit little-endian ELF file; nothing for bytes that are none."""
    if image[:6] != b"\x7fELF\x02\x01" or len(image) < 64:
        return
    (table,) = struct.unpack_from("<Q", image, 0x28)
    entry_bytes, count, names_at = struct.unpack_from("<HHH", image, 0x3A)
    if entry_bytes < 64 or table + entry_bytes * count > len(image) or names_at >= count:
        return
    heads = [struct.unpack_from("<IIQQQQIIQQ", image, table + entry_bytes * i) for i in range(count)]
    names = image[heads[names_at][4] : heads[names_at][4] + heads[names_at][5]]
    for name, kind, _, _, offset, size, _, _, _, _ in heads:
        end = names.find(b"\0", name)
        text = names[name : end if end >= 0 else None].decode("utf-8", "replace")
        data = b"" if kind == _SHT_NOBITS else image[offset : offset + size]
        yield _Section(text, kind, size, data)


def _attributes(info: bytes) -> Iterator[tuple[int, bytes]]:
    """(attribute, value) of a .nv.info section."""
    at = 0
    while at + _VALUES_IN_HEAD <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += _VALUES_IN_HEAD
        if form == _EIFMT_SIZED:
            yield attribute, info[at : at + size]
            at += size
        else:
            yield attribute, struct.pack("<H", size)


def _symbols(sections: Mapping[str, _Section]) -> list[_Symbol]:
    table, strings = sections.get(".symtab"), sections.get(".strtab")
    if table is None or strings is None:
        return []
    found = []
    for at in range(0, len(table.data) - 23, 24):
        name, _, section, _, size = struct.unpack_from("<IHHQQ", table.data, at)
        end = strings.data.find(b"\0", name)
        text = strings.data[name : end if end >= 0 else None].decode("utf-8", "replace")
        found.append(_Symbol(text, section, size))
    return found


def _by_kernel(sections: Mapping[str, _Section], wanted: int) -> dict[str, int]:
    """An attribute of .nv.info, a number for each symbol."""
    info = sections.get(".nv.info")
    if info is None:
        return {}
    symbols = _symbols(sections)
    found = {}
    for attribute, value in _attributes(info.data):
        if attribute == wanted and len(value) == 8:
            index, number = struct.unpack("<II", value)
            if index < len(symbols):
                found[symbols[index].name] = number
    return found


def _most_threads(info: _Section | None) -> int:
    """The block size of __launch_bounds__, 256 where the kernel states none."""
    if info is not None:
        for attribute, value in _attributes(info.data):
            if attribute == _EIATTR_MAX_THREADS and len(value) == 12:
                x, y, z = struct.unpack("<III", value)
                return int(x * y * z)
    return 256
