"""Gives the compiler its headers in memory, so that the sealed box need not open any file.

The headers are CUDA's own device headers, from the installed packages, and the judge's short ones
(include/): common.cuh, what a device source may ask of the C library, and the prelude. Which of
CUDA's a source needs is found by following every #include and __has_include in the text, whatever
condition it stands under: too many is harmless, and nothing else can be included.

Every include inside a header is rewritten to the name under which the box knows the header, because
NVRTC looks headers in memory up by the name as it is written. The closure of an outermost header is
kept on disk (cache.py): reading 1,500 small files takes a second, reading one large one some ms.
"""

import hashlib
import json
import posixpath
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from judge.compiler.cache import DiskCache
from judge.compiler.versions import toolkit_version

PRELUDE = "judge_prelude.cuh"

_OWN_FOLDER = Path(__file__).parent / "include"
_INCLUDE = re.compile(
    rb"^(?P<head>[ \t]*#[ \t]*include(?:_next)?[ \t]*)(?P<open>[<\"])(?P<name>[^>\"\n]+)[>\"]", re.MULTILINE
)
_HAS_INCLUDE = re.compile(rb"__has_include(?:_next)?[ \t]*\([ \t]*[<\"](?P<name>[^>\"\n]+)[>\"]")
_MAX_REQUESTS = 256
_LONGEST_NAME = 200
"""Far longer than any header's, which are ASCII. For a name of thousands of letters a system has only an error."""


@dataclass(frozen=True)
class HeaderSet:
    """The headers for one source by the name an #include gives them; digest identifies the content."""

    files: Mapping[str, bytes]
    digest: str


def headers_for(source: str, disk: DiskCache) -> HeaderSet:
    """Every header the source can reach."""
    files = dict(_own_headers())
    requested = dict.fromkeys(name for name, _ in _requests(source.encode()))
    outermost = [name for name in requested if name not in files and _find(name) is not None]
    for name in outermost[:_MAX_REQUESTS]:
        files.update((known, text) for known, text in _closure(name, disk).items() if known not in files)
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode())
        digest.update(files[name])
    return HeaderSet(files, digest.hexdigest())


@cache
def _own_headers() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(_OWN_FOLDER.iterdir()) if path.is_file()}


@cache
def include_folders() -> tuple[Path, ...]:
    """The installed folders of CUDA's device headers, in the order they are searched."""
    found: list[Path] = []
    spec = find_spec("nvidia")
    for package in spec.submodule_search_locations if spec and spec.submodule_search_locations else ():
        for folder in sorted(Path(package).glob("*/include")):
            found.extend(candidate for candidate in (folder, folder / "cccl") if candidate.is_dir())
    return tuple(found)


def _find(name: str) -> Path | None:
    """The file of a header named relative to an include folder; None outside them."""
    normal = posixpath.normpath(name)
    if normal.startswith(("/", "..")) or len(normal) > _LONGEST_NAME or not normal.isascii():
        return None
    return next((path for folder in include_folders() if (path := folder / normal).is_file()), None)


def _requests(text: bytes) -> Iterator[tuple[str, bool]]:
    """(name, quoted) of everything a text may include."""
    for match in _INCLUDE.finditer(text):
        yield match.group("name").decode("utf-8", "replace").strip(), match.group("open") == b'"'
    for match in _HAS_INCLUDE.finditer(text):
        yield match.group("name").decode("utf-8", "replace").strip(), False


def _closure(name: str, disk: DiskCache) -> dict[str, bytes]:
    """A header and all it reaches, by canonical name, with its includes rewritten to those names."""
    folders = "\n".join(str(folder) for folder in include_folders())
    key = hashlib.sha256(f"headers 1\n{toolkit_version()}\n{folders}\n{name}".encode()).hexdigest()
    packed = disk.read(key)
    if packed is not None:
        files = _unpack(packed)
        if files is not None:
            return files
    files = _collect(name)
    disk.write(key, _pack(files))
    return files


def _collect(name: str) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    pending = [posixpath.normpath(name)]
    if pending[0] != name:
        # Included under an odd spelling: a header of that name that includes the real one.
        files[name] = f'#include "{pending[0]}"\n'.encode()
    while pending:
        current = pending.pop()
        path = _find(current)
        if current in files or path is None or current in _own_headers():
            continue
        text = path.read_bytes()
        for wanted, quoted in _requests(text):
            target = _resolve(wanted, quoted, current)
            if target is not None:
                pending.append(target)
        files[current] = _with_canonical_includes(text, current)
    return files


def _resolve(name: str, quoted: bool, including: str) -> str | None:
    """The canonical name of what a header includes; None when it is no header of ours."""
    if quoted:
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(including), name))
        if _find(beside) is not None:
            return beside
    normal = posixpath.normpath(name)
    return normal if normal in _own_headers() or _find(normal) is not None else None


def _with_canonical_includes(text: bytes, including: str) -> bytes:
    def rewritten(match: re.Match[bytes]) -> bytes:
        quoted = match.group("open") == b'"'
        target = _resolve(match.group("name").decode("utf-8", "replace").strip(), quoted, including)
        return match.group() if target is None else match.group("head") + b'"' + target.encode() + b'"'

    return _INCLUDE.sub(rewritten, text)


def _pack(files: Mapping[str, bytes]) -> bytes:
    index = json.dumps([[name, len(text)] for name, text in files.items()]).encode()
    return struct.pack("<I", len(index)) + index + b"".join(files.values())


def _unpack(packed: bytes) -> dict[str, bytes] | None:
    """None for bytes that are no pack."""
    try:
        (size,) = struct.unpack_from("<I", packed)
        index = json.loads(packed[4 : 4 + size])
        files = {}
        at = 4 + size
        for name, length in index:
            files[str(name)] = packed[at : at + int(length)]
            at += int(length)
    except (ValueError, TypeError, struct.error):
        return None
    return files if at == len(packed) else None
