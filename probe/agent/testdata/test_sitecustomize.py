"""The sitecustomize that the probe's own hides."""

import os
import shutil
import sys
import unittest

from harness import AGENT, Case


class Chain(Case):
    """An existing sitecustomize runs as without the probe."""

    def site(self, content):
        directory = os.path.join(self.directory, "site")
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "sitecustomize.py"), "w") as file:
            file.write(content)
        return directory

    def test_it_runs(self):
        other = self.site("import sys\nsys.mark = __file__, __name__\n")
        job = self.job("import sys, sitecustomize", path=[other])
        self.assertEqual(job.do("sys.mark"), (os.path.join(other, "sitecustomize.py"), "sitecustomize"))
        self.assertEqual(job.do("sitecustomize.__file__"), os.path.join(other, "sitecustomize.py"))
        job.do("import torch; t = torch.empty(1)")
        self.assertTrue(self.monitor(job).ask("hello")["ok"])

    def test_ours_twice(self):
        # One copy is as from an image's environment, the other as from another vramscope's run.
        other = self.site("import sys\nsys.mark = getattr(sys, 'mark', 0) + 1\n")
        second = os.path.join(self.directory, "second")
        os.mkdir(second)
        for name in ("sitecustomize.py", "vramscope_probe.py"):
            shutil.copy(os.path.join(AGENT, name), second)
        job = self.job("import sys, torch; t = torch.empty(1)", path=[second, other])
        self.assertEqual(job.do("sys.mark, hasattr(sys, '_vramscope_passed')"), (1, False))
        self.assertEqual(self.monitor(job).ask("hello")["started_by"], "run")
        self.assertEqual(job.end(), 0)
        self.assertEqual(job.errors(), "")

    def test_its_failure_is_the_same_without_the_probe(self):
        for content in ("1/0", "import not_there", "raise SystemExit(3)"):
            with self.subTest(content):
                ends = []
                for probe in (False, True):
                    job = self.job(path=[self.site(content)], probe=probe)
                    status = job.end()
                    errors = [line for line in job.errors().splitlines() if line.strip()]
                    ends.append((status, errors[-1:] if status else errors))
                self.assertEqual(ends[0], ends[1])

    def test_tracers_see_no_file_of_ours(self):
        # Coverage and trace would count the lines of our files as the program's.
        job = self.job("""
import sys
seen = set()
def trace(frame, event, _):
    seen.add(frame.f_code.co_filename)
sys.settrace(trace)
import torch
sys.settrace(None)
""")
        seen = job.do("seen")
        self.assertIn("<vramscope_probe>", seen)
        self.assertEqual([name for name in seen if name.startswith(AGENT) and "/testdata/" not in name], [])

    def test_bytecode(self):
        # The bytecode is written beside the installed files, unless a filter has been installed meanwhile.
        for filtered in (False, True):
            files = os.path.join(self.directory, "files%d" % filtered)
            os.mkdir(files)
            for name in ("sitecustomize.py", "vramscope_probe.py"):
                shutil.copy(os.path.join(AGENT, name), files)
            environ = {name: "" for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")}
            job = self.job("import ctypes, sys", probe=False, path=[files], **environ)
            if filtered:  # this filter allows everything
                job.do("code = (ctypes.c_uint32 * 2)(6, 0x7fff0000)")
                job.do("header = (ctypes.c_uint64 * 2)(1, ctypes.addressof(code)); libc = ctypes.CDLL(None)")
                self.assertEqual(job.do("libc.prctl(38, 1, 0, 0, 0), libc.prctl(22, 2, header)"), (0, 0))
            job.do("import torch")
            self.assertTrue(job.do("'vramscope_probe' in sys.modules"))
            cache = os.path.join(files, "__pycache__")
            self.assertEqual([name for name in os.listdir(cache) if name.startswith("vramscope_probe")] == [], filtered)
            self.assertEqual(job.end(), 0)

    def test_proc_goes_away(self):
        # As after chroot: the bytecode is not written, and the probe is loaded.
        files = os.path.join(self.directory, "files")
        os.mkdir(files)
        for name in ("sitecustomize.py", "vramscope_probe.py"):
            shutil.copy(os.path.join(AGENT, name), files)
        job = self.job("import posix, sys; real = posix.open",
                       "def without_proc(path, *rest):\n    if path.startswith('/proc'): raise OSError(path)\n    return real(path, *rest)",
                       "posix.open = without_proc", "import torch; posix.open = real", probe=False, path=[files], PYTHONDONTWRITEBYTECODE="", PYTHONPYCACHEPREFIX="")
        self.assertTrue(job.do("'vramscope_probe' in sys.modules"))
        self.assertEqual([name for name in os.listdir(os.path.join(files, "__pycache__")) if name.startswith("vramscope_probe")], [])

    @unittest.skipIf(sys.version_info >= (3, 12), "ctypes is in the first interpreter only")
    def test_sub_interpreters_have_no_probe(self):
        job = self.job("import _xxsubinterpreters as interpreters; own = interpreters.create()")
        job.do("interpreters.run_string(own, 'import torch')")
        job.do("interpreters.run_string(own, 'import sys; assert \"vramscope_probe\" not in sys.modules')")
        job.do("interpreters.destroy(own)")
        self.assertTrue(job.do("own not in interpreters.list_all()"))
        self.assertEqual(job.end(), 0)
        self.assertEqual(job.errors(), "")

    def test_no_other_sitecustomize(self):
        job = self.job("import sitecustomize, sys")
        self.assertEqual(job.errors(), "")
        self.assertEqual(job.do("[getattr(f, '__qualname__', '') for f in sys.meta_path].count('_install.<locals>.Finder')"), 1)

    def test_a_venv(self):
        venv = os.path.join(self.directory, "venv")
        import subprocess

        made = subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode:
            self.skipTest("this Python makes no venv: %s" % made.stdout)
        packages = os.path.join(venv, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
        with open(os.path.join(packages, "sitecustomize.py"), "w") as file:
            file.write("import sys; sys.mark = 'venv'\n")
        python, sys.executable = sys.executable, os.path.join(venv, "bin", "python")
        mark = "getattr(sys, 'mark', None), sys.prefix"
        try:
            # A distribution may have its own sitecustomize, which comes first.
            alone = subprocess.check_output([sys.executable, "-c", "import sys; print((%s))" % mark], universal_newlines=True)
            job = self.job("import sys, torch; t = torch.empty(1)")
        finally:
            sys.executable = python
        self.assertEqual(repr(job.do(mark)), alone.strip())
        self.assertIn(venv, alone)
        self.assertTrue(self.monitor(job).ask("hello")["ok"])


if __name__ == "__main__":
    unittest.main()
