"""System call numbers of the two architectures, for the calls the seals refuse.

A name that an architecture does not have is left out of its table.
"""

PATH_CALLS = frozenset(
    ["open", "openat", "openat2", "creat", "stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "execve", "execveat", "chdir", "chroot", "mkdir", "mkdirat", "mknod", "mknodat", "unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "truncate", "statfs", "utime", "utimes", "utimensat", "futimesat", "setxattr", "lsetxattr", "getxattr", "lgetxattr", "listxattr", "llistxattr", "removexattr", "lremovexattr", "setxattrat", "getxattrat", "listxattrat", "removexattrat", "inotify_add_watch", "fanotify_mark", "name_to_handle_at", "open_by_handle_at", "open_tree", "open_tree_attr", "move_mount", "fsopen", "fspick", "mount_setattr", "uselib", "swapon", "swapoff", "acct", "pivot_root", "mount", "umount2", "quotactl", "statmount", "listmount", "memfd_create", "io_uring_setup", "io_uring_enter", "io_uring_register", "file_getattr", "file_setattr"]
)
"""Calls that name a file, and io_uring, which could open one without any of them."""

NETWORK_CALLS = frozenset(
    ["socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "process_madvise", "kcmp", "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key", "mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "sethostname", "setdomainname", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "syslog", "acct", "quotactl", "iopl", "ioperm", "open_by_handle_at", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "mount_setattr", "lookup_dcookie", "vhangup", "io_uring_setup", "io_uring_enter", "io_uring_register", "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "capset", "personality"]
)
"""Calls that reach other machines, other processes or the kernel's configuration."""

X86_64 = {
    "open": 2, "stat": 4, "lstat": 6, "access": 21, "socket": 41, "connect": 42, "accept": 43, "bind": 49,
    "listen": 50, "socketpair": 53, "clone": 56, "execve": 59, "truncate": 76, "chdir": 80, "rename": 82,
    "mkdir": 83, "rmdir": 84, "creat": 85, "link": 86, "unlink": 87, "symlink": 88, "readlink": 89, "chmod": 90,
    "chown": 92, "lchown": 94, "ptrace": 101, "syslog": 103, "setuid": 105, "setgid": 106, "setreuid": 113,
    "setregid": 114, "setgroups": 116, "setresuid": 117, "setresgid": 119, "capset": 126, "utime": 132,
    "mknod": 133, "uselib": 134, "personality": 135, "statfs": 137,
    "vhangup": 153, "pivot_root": 155, "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday": 164,
    "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
    "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179,
    "setxattr": 188, "lsetxattr": 189, "getxattr": 191, "lgetxattr": 192, "listxattr": 194, "llistxattr": 195,
    "removexattr": 197, "lremovexattr": 198, "lookup_dcookie": 212, "clock_settime": 227,
    "utimes": 235, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "inotify_add_watch": 254,
    "openat": 257, "mkdirat": 258, "mknodat": 259, "fchownat": 260, "futimesat": 261, "newfstatat": 262,
    "unlinkat": 263, "renameat": 264, "linkat": 265, "symlinkat": 266, "readlinkat": 267, "fchmodat": 268,
    "faccessat": 269, "unshare": 272, "utimensat": 280, "accept4": 288, "perf_event_open": 298,
    "fanotify_mark": 301, "name_to_handle_at": 303, "open_by_handle_at": 304,
    "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
    "finit_module": 313, "renameat2": 316, "seccomp": 317, "memfd_create": 319,
    "kexec_file_load": 320, "bpf": 321, "execveat": 322, "userfaultfd": 323, "statx": 332,
}  # fmt: skip

AARCH64 = {
    "setxattr": 5, "lsetxattr": 6, "getxattr": 8, "lgetxattr": 9, "listxattr": 11, "llistxattr": 12,
    "removexattr": 14, "lremovexattr": 15, "lookup_dcookie": 18, "inotify_add_watch": 27, "mknodat": 33,
    "mkdirat": 34, "unlinkat": 35, "symlinkat": 36, "linkat": 37, "renameat": 38, "umount2": 39, "mount": 40,
    "pivot_root": 41, "statfs": 43, "truncate": 45, "faccessat": 48, "chdir": 49, "chroot": 51, "fchmodat": 53,
    "fchownat": 54, "openat": 56, "vhangup": 58, "quotactl": 60, "readlinkat": 78, "newfstatat": 79,
    "utimensat": 88, "acct": 89, "capset": 91, "personality": 92, "unshare": 97, "kexec_load": 104,
    "init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117,
    "reboot": 142, "setregid": 143,
    "setgid": 144, "setreuid": 145, "setuid": 146, "setresuid": 147, "setresgid": 149, "setgroups": 159,
    "sethostname": 161, "setdomainname": 162, "settimeofday": 170, "adjtimex": 171, "socket": 198,
    "socketpair": 199, "bind": 200, "listen": 201, "accept": 202, "connect": 203, "add_key": 217,
    "request_key": 218, "keyctl": 219, "clone": 220, "execve": 221, "swapon": 224, "swapoff": 225,
    "perf_event_open": 241, "accept4": 242, "fanotify_mark": 263, "name_to_handle_at": 264,
    "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270,
    "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "renameat2": 276,
    "seccomp": 277, "memfd_create": 279, "bpf": 280, "execveat": 281, "userfaultfd": 282, "statx": 291,
    "kexec_file_load": 294,
}  # fmt: skip

# From 424 on the numbers are the same everywhere.
_COMMON = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435, "openat2": 437,
    "pidfd_getfd": 438, "faccessat2": 439, "process_madvise": 440, "mount_setattr": 442, "fchmodat2": 452,
    "statmount": 457, "listmount": 458, "setxattrat": 463, "getxattrat": 464, "listxattrat": 465,
    "removexattrat": 466, "open_tree_attr": 467, "file_getattr": 468, "file_setattr": 469,
}  # fmt: skip
X86_64.update(_COMMON)
AARCH64.update(_COMMON)
