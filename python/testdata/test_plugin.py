"""@pytest.mark.gpu_memory with a stand-in for PyTorch; test_limits also runs with a real one."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

HEAD = """
import pytest
MIB = 1 << 20
def take(mib):
    import torch
    return torch.empty(mib * MIB, dtype=torch.uint8, device=0)
"""


class Plugin(unittest.TestCase):
    def run_tests(self, *tests):
        """Runs test functions, in this order, in one process. Returns {name: outcome} and pytest's output."""
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "test_it.py"), "w") as file:
                file.write(HEAD + "".join(tests))
            command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--strict-markers", "--rootdir", directory, directory]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
        written = done.stdout
        outcomes = {name: outcome for outcome, name in re.findall(r"^(PASSED|FAILED|ERROR) \S*::(\w+)", written, re.M)}
        return outcomes, written

    def test_limits(self):
        outcomes, written = self.run_tests(
            '@pytest.mark.gpu_memory(limit="1GiB")\ndef test_within():\n    take(900)\n',
            '@pytest.mark.gpu_memory(limit="1GiB")\ndef test_over():\n    kept = take(700)\n    take(600)\n',
            '@pytest.mark.gpu_memory(limit="100MiB")\ndef test_after_a_peak():\n    take(64)\n',
            '@pytest.mark.gpu_memory("100MiB")\ndef test_fails_anyway():\n    take(64)\n    assert False, "its own reason"\n',
            '@pytest.mark.gpu_memory(limit="much")\ndef test_limit():\n    pass\n',
            '@pytest.mark.gpu_memory(max="1GiB")\ndef test_keyword():\n    pass\n',
            "@pytest.mark.gpu_memory\ndef test_no_limit():\n    pass\n",
            '@pytest.fixture\ndef model():\n    return take(300)\n',
            '@pytest.mark.gpu_memory("100MiB")\ndef test_what_setup_holds(model):\n    pass\n',
            '@pytest.mark.gpu_memory("0.5gib")\ndef test_small_letters(model):\n    pass\n',
            "def test_unmarked():\n    take(2000)\n",
        )
        expected = {"within": "PASSED", "over": "FAILED", "after_a_peak": "PASSED", "fails_anyway": "FAILED", "limit": "FAILED", "unmarked": "PASSED"}
        expected.update(keyword="FAILED", no_limit="FAILED", what_setup_holds="FAILED", small_letters="PASSED")
        self.assertEqual(outcomes, {"test_" + name: outcome for name, outcome in expected.items()}, written)
        self.assertRegex(written, r"more GPU memory than its limit: 1\.27G on GPU-\S+, of 1\.00G\n  pytorch: 1\.27G at its peak; now allocated 0, cached 1\.\d+G, fragmented 0")
        self.assertIn("its own reason", written)
        self.assertRegex(written, r"its limit: 300M on GPU-\S+, of 100M\n")
        for given in ("limit='much'", "max='1GiB'", ""):
            self.assertIn('want @pytest.mark.gpu_memory(limit="2GiB"), not gpu_memory(%s)\n' % given, written)
        self.assertNotIn("pytest_plugin.py", written)

    def test_unmeasured_does_not_pass(self):
        outcomes, written = self.run_tests('@pytest.mark.gpu_memory(limit="1GiB")\ndef test_without():\n    pass\n')
        self.assertEqual(outcomes, {}, written)
        self.assertRegex(written, r"SKIPPED \[1\] \S*test_it.py:")
        self.assertIn("its GPU memory was not measured: no library here has used a GPU", written)


if __name__ == "__main__":
    unittest.main()
