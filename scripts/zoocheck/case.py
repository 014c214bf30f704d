"""Case, and the list of all cases."""

import dataclasses
import importlib
import pkgutil
import shutil

# If a process ends without Python's atexit, the probe's socket stays until the next probe removes it.
ABRUPT = r"^run/vramscope/PID-\d+\.sock$"

# Python 3.12 and newer warn if a program with a probe's thread forks: docs/attach.md.
FORKS = ((r"^.*DeprecationWarning: This process .* is multi-threaded, use of fork\(\) may lead to deadlocks in the child\.$", "DROP"),
         (r"^  (self\.pid|child|pid|pids\[-1\]) = os\.fork\(\)$", "DROP"))


@dataclasses.dataclass(frozen=True)
class Case:
    """A program and how it is started.

    By default the command is `PYTHON FLAGS programs/SCRIPT ARGUMENTS`. The other fields say what
    differs.
    """

    name: str
    script: str = "job.py"       # below programs/
    arguments: tuple = ()
    flags: tuple = ()            # of the interpreter
    command: tuple = ()          # replaces the default command; $PYTHON and $PROGRAMS are expanded
    shell: str = ""              # sh runs this first, then becomes the command
    environ: dict = dataclasses.field(default_factory=dict)  # None removes a variable
    stdin: bytes = b""
    needs: tuple = ()            # packages of PyPI
    tools: tuple = ()            # programs on the PATH
    embeds: bool = False         # needs the headers and the library of Python
    since: tuple = (3, 8)
    until: tuple = (3, 99)       # the last version
    exit: int = 0                # as subprocess reports it: -N for a signal
    meetings: int = 1            # how many PID.N the programs make
    # If vramscope is right to refuse: "run", "attach" or "flush" → a regular expression for its
    # reason, or (expression, first version, last version).
    refused: dict = dataclasses.field(default_factory=dict)
    # (expression, replacement), applied to every line of output.
    normalise: tuple = ()
    unordered: bool = False      # several processes write lines
    leaves: str = ""             # expression for the files that only a run with a probe leaves
    seconds: float = 600         # limit for one run

    def refusal(self, way, version):
        """The expression for the reason with which vramscope refuses, or None."""
        expected = self.refused.get(way)
        if isinstance(expected, tuple):
            expected, first, last = expected
            if not first <= version <= last:
                return None
        return expected

    def missing(self, python):
        """Why the case cannot be tried with this Python, or ""."""
        if not self.since <= python.version[:2] <= self.until:
            return "not for %d.%d" % python.version[:2]
        if self.embeds and not python.embeddable:
            return "no headers, or no library of Python"
        return next(("there is no " + tool for tool in self.tools if not shutil.which(tool)), "")


def every():
    """All cases, from the modules in cases/."""
    found = []
    package = importlib.import_module("zoocheck.cases")
    for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        found += importlib.import_module("zoocheck.cases." + module).CASES
    names = [case.name for case in found]
    assert len(names) == len(set(names)), "two cases of one name"
    return found
