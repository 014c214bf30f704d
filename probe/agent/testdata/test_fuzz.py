"""A short run of fuzz.py."""

import os
import subprocess
import sys
import unittest

from harness import HERE, Case


class Fuzz(Case):
    def fuzz(self, *arguments):
        done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "fuzz.py"), *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_requests_to_the_dispatcher(self):
        self.assertIn("dispatcher: 30000 requests", self.fuzz("--dispatcher", "30000"))

    def test_requests_to_a_living_probe(self):
        self.assertIn("socket: ", self.fuzz("--socket", "10000"))


if __name__ == "__main__":
    unittest.main()
