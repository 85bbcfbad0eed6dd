"""Isolation of the processes that touch a submission.

    outside  process.py starts a box, watches it and ends it, on the launcher's thread (launcher.py), with
             bubblewrap (bubblewrap.py), a view of the machine (view.py) and a control group (cgroup.py)
    inside   inside.py gives up root (privileges.py) and seals the process (seccomp.py, syscalls.py);
             limits.py sets rlimits, frames.py carries bytes
    proof    hostile.py tries everything in there, probing.py says what came of it, tier.py draws the conclusion

What runs inside is plain ctypes over the C library, light enough for a process that starts in milliseconds.
"""
