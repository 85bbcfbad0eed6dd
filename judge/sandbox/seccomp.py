"""Seals the calling process with seccomp filters; nothing undoes a seal.

    seal_paths()    every system call that takes a path answers ENOENT: no file can be opened, looked
                    for or executed. Open descriptors keep working. Call it after everything is loaded.
    seal_network()  sockets, ptrace, mounts, keys, namespaces and the like answer EPERM.
    seal_processes()  no new process, only threads; no signal to another one: EPERM.

All may be called, in any order; filters add up and the kernel takes the strictest answer. They bind
every thread of the process, those already running too (TSYNC), and every child to come. They work
without privileges. A process of another architecture's ABI, x32 included, is killed.

The filter is classic BPF: load the architecture, load the number, compare it with each refused one.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

from judge.sandbox.syscalls import AARCH64, NETWORK_CALLS, OWN_PROCESS_CALLS, PATH_CALLS, PROCESS_CALLS, X86_64

_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_FILTER_FLAG_TSYNC = 1

_RET_KILL_PROCESS = 0x80000000
_RET_ERRNO = 0x00050000
_RET_ALLOW = 0x7FFF0000

_LOAD_WORD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_JUMP_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

# Places in struct seccomp_data.
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16

_X32_BIT = 0x40000000

CLONE_NEW_FLAGS = 0x7E020000
"""Every CLONE_NEW* flag clone() takes: no new namespaces."""

CLONE_THREAD = 0x00010000

_MACHINES = {"x86_64": (0xC000003E, X86_64), "aarch64": (0xC00000B7, AARCH64)}


class SealError(Exception):
    """The kernel or this machine does not take the filter; the process is not sealed."""


def seal_paths() -> None:
    """Refuse every path from now on, with ENOENT. Raises SealError."""
    _install(_filter(PATH_CALLS, errno.ENOENT))


def seal_network() -> None:
    """Refuse sockets, other processes' memory, namespaces and mounts with EPERM. Raises SealError.

    Sockets that are already open keep working with read, write, send and recv.
    """
    _install(_filter(NETWORK_CALLS, errno.EPERM, refuse_namespaces=True))


def seal_processes() -> None:
    """Refuse new processes, and signals and limits for others, with EPERM.

    Threads can still be made, and signals sent to oneself. Raises SealError.
    """
    _install(_filter(PROCESS_CALLS, errno.EPERM, only_threads=True))


def supported() -> bool:
    """Whether this machine is one the filters are written for."""
    return sys.platform == "linux" and platform.machine() in _MACHINES and sys.maxsize > 2**32


def _statement(code: int, value: int) -> bytes:
    return struct.pack("<HBBI", code, 0, 0, value)


def _jump(code: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _filter(names: frozenset[str], error: int, *, refuse_namespaces: bool = False, only_threads: bool = False) -> bytes:
    if not supported():
        raise SealError(f"no seccomp filter is written for {sys.platform} on {platform.machine()}")
    audit_arch, numbers = _MACHINES[platform.machine()]
    program = [
        _statement(_LOAD_WORD, _ARCH),
        _jump(_JUMP_EQUAL, audit_arch, 1, 0),
        _statement(_RETURN, _RET_KILL_PROCESS),
        _statement(_LOAD_WORD, _NUMBER),
        _jump(_JUMP_AT_LEAST, _X32_BIT, 0, 1),
        _statement(_RETURN, _RET_KILL_PROCESS),
    ]
    if refuse_namespaces or only_threads:
        # To refuse a clone, jump over one more: the bit must be absent for namespaces, present for threads.
        flags, if_set, if_clear = (CLONE_THREAD, 1, 0) if only_threads else (CLONE_NEW_FLAGS, 0, 1)
        # clone3 hides its flags in memory a filter cannot read; glibc falls back to clone on ENOSYS.
        program += [
            _jump(_JUMP_EQUAL, numbers["clone3"], 0, 1),
            _statement(_RETURN, _RET_ERRNO | errno.ENOSYS),
            _jump(_JUMP_EQUAL, numbers["clone"], 0, 3),
            _statement(_LOAD_WORD, _FIRST_ARGUMENT),
            _jump(_JUMP_ANY_BIT, flags, if_set, if_clear),
            _statement(_RETURN, _RET_ERRNO | errno.EPERM),
            _statement(_LOAD_WORD, _NUMBER),
        ]
    if only_threads:
        for name in sorted(OWN_PROCESS_CALLS):
            # Zero is the caller itself to prlimit, and its whole group to kill: there it stays refused.
            allowed = [os.getpid(), *([0] if name == "prlimit64" else [])]
            program += [
                _jump(_JUMP_EQUAL, numbers[name], 0, 3 + len(allowed)),
                _statement(_LOAD_WORD, _FIRST_ARGUMENT),
                *(_jump(_JUMP_EQUAL, pid, len(allowed) - at, 0) for at, pid in enumerate(allowed)),
                _statement(_RETURN, _RET_ERRNO | error),
                _statement(_LOAD_WORD, _NUMBER),
            ]
    for name in sorted(names):
        if name in numbers:
            program.append(_jump(_JUMP_EQUAL, numbers[name], 0, 1))
            program.append(_statement(_RETURN, _RET_ERRNO | error))
    program.append(_statement(_RETURN, _RET_ALLOW))
    return b"".join(program)


class _SockFprog(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _install(program: bytes) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise SealError(f"no_new_privs is refused: {_reason()}")
    _, numbers = _MACHINES[platform.machine()]
    code = ctypes.create_string_buffer(program, len(program))
    description = _SockFprog(len(program) // 8, ctypes.cast(code, ctypes.c_void_p).value)
    result = libc.syscall(
        ctypes.c_long(numbers["seccomp"]),
        ctypes.c_uint(_SECCOMP_SET_MODE_FILTER),
        ctypes.c_uint(_SECCOMP_FILTER_FLAG_TSYNC),
        ctypes.byref(description),
    )
    if result != 0:
        raise SealError(f"the seccomp filter is refused: {_reason() if result < 0 else 'a thread has one of its own'}")


def _reason() -> str:
    code = ctypes.get_errno()
    return errno.errorcode.get(code, str(code))
