"""Isolation of the processes that touch a submission.

seccomp.py builds and installs the kernel filters, limits.py sets rlimits, tier.py says what of it
works on this machine. Everything here is plain ctypes over the C library, light enough for a process
that has to start in milliseconds.
"""
