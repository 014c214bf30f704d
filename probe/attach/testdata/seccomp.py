"""A seccomp filter that kills the process for one system call.

    python3 seccomp.py CALL PROGRAM ARGUMENT…    runs the program under it

Source: https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

import ctypes
import os
import platform
import struct
import sys

CALLS = {
    "x86_64": {"socket": 41, "bind": 49, "clone3": 435, "socketpair": 53, "mkdirat": 258, "mmap": 9, "acct": 163},
    "aarch64": {"socket": 198, "bind": 200, "clone3": 435, "socketpair": 199, "mkdirat": 34, "mmap": 222, "acct": 89},
}


def prepare(call):
    """Returns a function that installs the filter in the thread that calls it. A filter for
    mmap kills only if the memory is executable."""
    load, equal, test, give = 0x20, 0x15, 0x45, 0x06  # BPF: LD, JEQ, JSET, RET
    code = [(load, 0, 0, 0), (equal, 0, 1, CALLS[platform.machine()][call])]
    if call == "mmap":
        code = [(load, 0, 0, 0), (equal, 0, 3, CALLS[platform.machine()][call]), (load, 0, 0, 32), (test, 0, 1, 4)]
    code += [(give, 0, 0, 0x80000000), (give, 0, 0, 0x7FFF0000)]  # KILL_PROCESS, ALLOW
    content = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(content)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def install():
        zero = ctypes.c_ulong(0)
        if prctl(38, ctypes.c_ulong(1), zero, zero, zero):  # PR_SET_NO_NEW_PRIVS
            raise OSError(ctypes.get_errno(), "no_new_privs")
        if prctl(22, ctypes.c_ulong(2), program, zero, zero):  # PR_SET_SECCOMP
            raise OSError(ctypes.get_errno(), "seccomp")
        return content, program

    return install


if __name__ == "__main__":
    prepare(sys.argv[1])()
    os.execvp(sys.argv[2], sys.argv[2:])
