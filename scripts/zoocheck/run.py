"""One run of one case: by itself, under vramscope run, or attached to."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from zoocheck import view
from zoocheck.vramscope import SERVE_SECONDS, Failed, Vramscope

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
STAND_IN = os.path.join(os.path.dirname(os.path.dirname(HERE)), "probe", "agent", "testdata", "fake")
NO_PROBE_SECONDS = 1.5   # how long to check that no probe comes
SETTLE_SECONDS = 10      # how long to wait until a process looks as it did without vramscope
LOOKS = 5                # how many more times to look at a process without vramscope: it may change all the time
# From the program's end to the end of the processes that it started. A test in which a process never
# ends sets ZOO_SECONDS to less.
ENDING_SECONDS = float(os.environ.get("ZOO_SECONDS", 20))
INHERITED = "PATH", "LD_LIBRARY_PATH", "VRAMSCOPE_FAKE_STATE", "ZOO_VRAMSCOPE", "ZOO_HARM"
PLAIN, RUN, ATTACH = "plain", "run", "attach"


class Outcome:
    """The results of a run."""

    def __init__(self):
        self.output = self.errors = self.exit = None
        self.views = []        # of each process that met the runner: (lines, sockets)
        self.refused = ""      # the reason, where vramscope refused
        self.left = set()      # files
        self.problems = []


class Run:
    def __init__(self, case, python, version, way, vramscope, cache, plain=None):
        self.case, self.python, self.version, self.way, self.plain = case, python, version, way, plain
        self.outcome = Outcome()
        self.directory = tempfile.mkdtemp(prefix="zoo-")
        self.work, self.meet = self._make("work"), self._make("meet")
        own = {name: self._make(name) for name in ("home", "tmp", "run")}
        self.environ = {name: os.environ[name] for name in INHERITED if name in os.environ}
        self.environ.update(
            HOME=own["home"], TMPDIR=own["tmp"], XDG_RUNTIME_DIR=own["run"], XDG_STATE_HOME=self._make("state"),
            XDG_CACHE_HOME=cache, ZOO_MEET=self.meet, FAKE_TORCH_DRIVER="1", PYTHONDONTWRITEBYTECODE="1", LANG="C.UTF-8",
            PYTHONPATH=PROGRAMS + os.pathsep + STAND_IN, PYTHON=python, PROGRAMS=PROGRAMS, STAND_IN=STAND_IN, TERM="dumb")
        self.vramscope = Vramscope(vramscope, dict(self.environ))
        for name, value in case.environ.items():
            self.environ.pop(name, None)
            if value is not None:
                self.environ[name] = self._filled(value)
        self.met, self.pids = set(), set()

    def _make(self, name):
        os.mkdir(os.path.join(self.directory, name), 0o700)
        return os.path.join(self.directory, name)

    def _filled(self, text):
        return text.replace("$PYTHON", self.python).replace("$PROGRAMS", PROGRAMS).replace("$STAND_IN", STAND_IN).replace("$WORK", self.work)

    def command(self):
        case = self.case
        own = [self._filled(a) for a in case.command] or [
            self.python, *case.flags, os.path.join(PROGRAMS, case.script), *case.arguments]
        if self.way == RUN:
            own = [self.vramscope.path, "run", "--", *own]
        return ["sh", "-c", case.shell + '\nexec "$@"', "sh", *own] if case.shell else own

    @property
    def sockets(self):
        """How many sockets and pipes a probe may add."""
        native = self.way == RUN and self.case.command and self.case.command[0] != "$PYTHON"
        return view.SOCKETS + (view.PRELOADED if native else 0)

    def go(self):
        """Runs the program. Returns the Outcome."""
        outcome = self.outcome
        paths = [os.path.join(self.directory, name) for name in ("stdin", "stdout", "stderr")]
        with open(paths[0], "wb") as file:
            file.write(self.case.stdin)
        try:
            with open(paths[0], "rb") as source, open(paths[1], "wb") as output, open(paths[2], "wb") as errors:
                process = subprocess.Popen(self.command(), stdin=source, stdout=output, stderr=errors,
                                           env=self.environ, cwd=self.work, start_new_session=True)
            self.pids.add(process.pid)
            self._attend(process)
            outcome.exit = process.wait()
            if len(self.met) != self.case.meetings and not outcome.problems:
                outcome.problems.append("%d processes met the runner, not %d" % (len(self.met), self.case.meetings))
            outcome.output, outcome.errors = self._text(paths[1]), self._text(paths[2])
            outcome.left = self._left()
        finally:
            for pid in view.processes(self.meet.encode()):
                os.kill(pid, signal.SIGKILL)
            shutil.rmtree(self.directory, ignore_errors=True)
        return outcome

    def _attend(self, process):
        """Meets the processes until all have ended."""
        end = time.monotonic() + self.case.seconds
        alone = None  # since when the program itself has ended
        while True:
            # Read before the meetings, each of which may end the process.
            ended = process.poll() is not None
            for name in sorted(set(os.listdir(self.meet)) - self.met):
                if not name.endswith(".go"):
                    self.met.add(name)
                    self._meet(int(name.split(".")[0]))
                    os.mkdir(os.path.join(self.meet, name + ".go"))
            now = time.monotonic()
            left = view.processes(self.meet.encode()) if ended else [process.pid]
            if not left:
                return
            alone = alone or (now if ended else None)
            if now > end or alone and len(self.met) >= self.case.meetings and now - alone > ENDING_SECONDS:
                names = ", ".join("%d (%s)" % (pid, _command(pid)) for pid in left)
                self.outcome.problems.append("does not end: " + names)
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                return
            time.sleep(0.02)

    def _meet(self, pid):
        self.pids.add(pid)
        try:
            self._act(pid)
            self.outcome.views.append(self._view(pid))
            for _ in range(LOOKS if self.way == PLAIN else 0):
                time.sleep(0.02)
                self.outcome.views.append(self._view(pid))
        except (Failed, subprocess.TimeoutExpired, OSError) as problem:
            self.outcome.problems.append(self._same(str(problem)))

    def _act(self, pid):
        """Waits for the probe of a process (RUN) or attaches to the process (ATTACH), then flushes. Does nothing in a PLAIN run."""
        expected = self.case.refusal(self.way, self.version)
        if self.way == PLAIN:
            return
        if self.way == RUN and expected is None:
            if not self.vramscope.await_probe(pid):
                raise Failed("there is no probe")
        elif self.way == RUN:
            if self.vramscope.await_probe(pid, NO_PROBE_SECONDS):
                raise Failed("there is a probe, though the case expects: " + expected)
            self.outcome.refused = "no probe"
        else:
            reason = self.outcome.refused = self.vramscope.attach(pid)
            if expected is not None and not re.search(expected, reason):
                raise Failed("attach: %s; the case expects: %s" % (reason or "done", expected))
            if expected is None and reason:
                raise Failed("attach: " + reason)
        if self.outcome.refused:
            self.vramscope.refuses_flush(pid)
            return
        expected = self.case.refusal("flush", self.version)
        reason = self.outcome.refused = self.vramscope.flush(pid, SERVE_SECONDS if expected is None else 0)
        if bool(reason) != (expected is not None) or not re.search(expected or "", reason):
            raise Failed("flush: %s; the case expects: %s" % (reason or "done", expected))

    def _view(self, pid):
        """The process as seen from outside. Waits up to SETTLE_SECONDS until it looks as in the run without vramscope."""
        end = time.monotonic() + SETTLE_SECONDS
        while True:
            lines, sockets = view.of(pid, self._same)
            seen = self._normal(lines), sockets
            if self.plain is None or time.monotonic() > end or \
                    any(seen[0] == before[0] and seen[1] <= before[1] + self.sockets for before in self.plain.views):
                return seen
            time.sleep(0.1)

    def _left(self):
        left = {os.path.join(name, path) for name in ("work", "home", "tmp", "run")
                for path in view.files(os.path.join(self.directory, name))} | view.sockets(self.pids)
        for path in view.sockets(self.pids):
            os.remove(path)
        return {self._same(path) for path in left} - {"run/vramscope"}

    def _text(self, path):
        with open(path, encoding="utf-8", errors="backslashreplace") as file:
            lines = [self._same(line) for line in file.read().splitlines()]
        if self.way == RUN and self.case.refusal(RUN, self.version) is not None:
            lines = [line for line in lines if not line.startswith("vramscope: ")]
        lines = self._normal(lines)
        return sorted(lines) if self.case.unordered else lines

    def _normal(self, lines):
        for expression, replacement in self.case.normalise:
            lines = [re.sub(expression, replacement, line) for line in lines]
        return [line for line in lines if line != "DROP"]

    def _same(self, text):
        """The text without what differs between two runs: directory, pids, addresses."""
        text = text.replace(self.directory, "DIR")
        for pid in sorted(self.pids, reverse=True):
            text = re.sub(r"\b%d\b" % pid, "PID", text)
        return re.sub(r"0x[0-9a-f]+", "0x", text)


def _command(pid):
    try:
        with open("/proc/%d/cmdline" % pid) as file:
            return file.read().replace("\0", " ").strip()
    except OSError:
        return "?"
