"""The interpreters of this machine, and for each a virtual environment with packages."""

import dataclasses
import glob
import json
import os
import shutil
import subprocess
import threading

PROBE = """
import json, os, sys
from sysconfig import get_config_var as get, get_path
embeddable = os.path.exists(get_path("include") + "/Python.h") and bool(get("Py_ENABLE_SHARED"))
print(json.dumps([sys.version_info[:3], sys.executable, embeddable]))
"""


@dataclasses.dataclass
class Python:
    version: tuple
    path: str
    embeddable: bool

    def __post_init__(self):
        self._lock, self._failed = threading.Lock(), {}

    @property
    def name(self):
        return ".".join(map(str, self.version))

    @property
    def environment(self):
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return os.path.join(cache, "vramscope-zoo", self.name)

    def having(self, packages):
        """The path of an interpreter that has these packages, and "". If there is none, None and the reason."""
        if not packages:
            return self.path, ""
        python = os.path.join(self.environment, "bin", "python")
        with self._lock:
            missing = [p for p in packages if p not in self._installed()]
            failed = [self._failed[p] for p in missing if p in self._failed]
            if missing and not failed:
                failed = self._install(python, missing)
        return (None, failed[0]) if failed else (python, "")

    def _installed(self):
        found = glob.glob(os.path.join(self.environment, "lib", "python*", "site-packages", "*.dist-info"))
        return {os.path.basename(f).split("-")[0].lower().replace("_", "-") for f in found}

    def _install(self, python, packages):
        if not os.path.exists(python):
            made = subprocess.run([self.path, "-m", "venv", self.environment], capture_output=True, text=True)
            if made.returncode:
                return ["no virtual environment: " + (made.stdout + made.stderr).strip().splitlines()[-1]]
        # Only wheels: building from source is not tested here.
        command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:", *packages]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return []
        reason = "pip: " + (done.stderr.strip().splitlines() or ["no message"])[-1]
        self._failed.update(dict.fromkeys(packages, reason))
        return [reason]


def find(wanted):
    """The interpreters from 3.8 on, on the PATH and from pyenv, one of each version. wanted has
    beginnings of versions, like "3.9"; if it is empty, all are returned.
    """
    names = ["python3"] + ["python3.%d" % minor for minor in range(8, 20)]
    paths = [shutil.which(name, path=directory) for directory in os.get_exec_path() for name in names]
    paths += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))
    found = {}
    for path in dict.fromkeys(filter(None, paths)):
        if "/shims/" in path:  # each of pyenv's shims is one of the other interpreters
            continue
        done = subprocess.run([path, "-c", PROBE], capture_output=True, text=True)
        if done.returncode == 0:
            version, path, embeddable = json.loads(done.stdout)
            found.setdefault(tuple(version), Python(tuple(version), os.path.realpath(path), embeddable))
    every = [found[v] for v in sorted(found) if v >= (3, 8)]
    return [p for p in every if not wanted or any((p.name + ".").startswith(w + ".") for w in wanted)]
