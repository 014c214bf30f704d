"""Runs programs all the time."""

import subprocess

import zoo

zoo.busy(lambda: subprocess.run(["/bin/echo", "x"], stdout=subprocess.PIPE, check=True).stdout == b"x\n" or 1 / 0)
zoo.end()
