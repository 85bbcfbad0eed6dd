"""Giving up root: a process that touches a submission must be of an ordinary user.

uid 0 is special even without capabilities: the kernel lets it write its settings. Each box gets a
number of its own where the user namespace has them, so that two boxes are strangers to each other.
"""

import ctypes
import errno
import os
import secrets

NOBODY = 65534
BOX_UIDS = range(2_000_000_000, 2_001_000_000)
"""Belong to nobody: above every range that a Linux distribution hands out, below the signed limit."""

UID_VARIABLE = "JUDGE_BOX_UID"
_PR_SET_DUMPABLE = 4
_CAPABILITY_VERSION = 0x20080522


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class PrivilegeError(Exception):
    """This process is root and cannot become anybody else."""


def fresh_uid() -> int:
    return secrets.choice(BOX_UIDS)


def drop_root(*, keep_proc: bool = False) -> None:
    """Become an ordinary user for good; nothing to do where the process is one already.

    The number comes from the environment, or is nobody's. keep_proc: leave the process its own files in
    /proc, which a change of user takes away and NVIDIA's driver writes to.
    Raises PrivilegeError.
    """
    if os.getuid() != 0 and os.geteuid() != 0:
        return
    failure: OSError | None = None
    for uid in (int(os.environ.get(UID_VARIABLE, NOBODY)), NOBODY):
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        except OSError as error:
            failure = error
            continue
        _clear_inheritable()
        if keep_proc:
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
        return
    reason = errno.errorcode.get(failure.errno or 0, "unknown") if failure else "unknown"
    raise PrivilegeError(
        f"this process is root and may not become another user ({reason}): start the judge as an ordinary user"
    )


def _clear_inheritable() -> None:
    """Drop the set that a change of user leaves: it could only help a program with rights of its own."""
    header = _CapabilityHeader(_CAPABILITY_VERSION, 0)
    ctypes.CDLL(None, use_errno=True).capset(ctypes.byref(header), (ctypes.c_uint32 * 6)())
