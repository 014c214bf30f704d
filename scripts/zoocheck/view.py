"""What can be seen of a process from outside, and what a run leaves behind."""

import glob
import os
import re

# The lines of /proc/PID/status that a probe must not change.
STATUS = ("Name", "Umask", "TracerPid", "Uid", "Gid", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "CapEff", "NoNewPrivs", "Seccomp")
SOCKETS = 3   # of a probe: one to listen, and a pair to wake its thread
PRELOADED = 2  # of the preloaded library: a pipe


def of(pid, replace):
    """Returns what a probe must not change in a living process, as lines, and the number of its sockets and pipes."""
    base = "/proc/%d/" % pid
    lines, sockets = [], 0
    with open(base + "status") as file:
        lines += [_own_signals(" ".join(line.split())) for line in file if line.split(":")[0] in STATUS]
    with open(base + "limits") as file:
        lines += [" ".join(line.split()) for line in file]
    with open(base + "stat") as file:
        lines.append("nice " + file.read().rpartition(")")[2].split()[16])
    for name in ("oom_score_adj", "coredump_filter", "timerslack_ns", "personality"):
        with open(base + name) as file:
            lines.append(name + " " + file.read().strip())
    lines.append("cwd " + replace(os.readlink(base + "cwd")))
    descriptors = []
    for number in os.listdir(base + "fd"):
        try:
            target = os.readlink(base + "fd/" + number)
        except FileNotFoundError:
            continue  # closed meanwhile
        if target.startswith(("socket:", "pipe:")):
            sockets += 1
        else:
            target = re.sub(r"^(DIR/tmp|/dev/shm|/dev/pts)/.*", r"\1/…", replace(target))  # these have random names
            if not re.search(r"^/proc/PID/(task/\d+/)?(stat|status)$", target):  # a probe keeps these open
                descriptors.append("descriptor " + target.split(":[")[0])
    return lines + sorted(descriptors), sockets


def _own_signals(line):
    """Leaves out signals 32 and 33, which the C library catches as soon as there are threads."""
    name, _, value = line.partition(": ")
    return "%s: %x" % (name, int(value, 16) & ~(3 << 31)) if name.startswith("Sig") else line


def processes(marker):
    """The processes whose environment contains marker."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open("/proc/%s/environ" % name, "rb") as file:
                    if marker in file.read():
                        with open("/proc/%s/stat" % name) as file:
                            state = file.read().rpartition(")")[2].split()[0]
                        if state not in "ZX":
                            found.append(int(name))
            except OSError:
                pass  # it has ended
    return found


def files(directory):
    """The relative paths of all files below a directory, and of its empty directories."""
    found = set()
    for base, directories, names in os.walk(directory):
        if not directories and not names and base != directory:
            names = [""]
        found.update(os.path.relpath(os.path.join(base, name), directory) for name in names)
    return found


def sockets(pids):
    """The sockets that the probes of these processes have left in /tmp."""
    return {path for pid in pids for path in glob.glob("/tmp/vramscope-*/%d-*.sock" % pid)}
