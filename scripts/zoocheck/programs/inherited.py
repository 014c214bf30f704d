"""Prints what its children inherit: descriptors, signals, names of environment variables."""

import os
import subprocess
import sys

import zoo

LOOK = ("import os, signal; print(sorted(n for n in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + n)), "
        "sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), signal.getsignal(signal.SIGPIPE), sorted(n for n in os.environ if 'VRAMSCOPE' not in n))")
zoo.meet()
for close in (True, False):
    print(subprocess.run([sys.executable, "-c", LOOK], close_fds=close, stdout=subprocess.PIPE).stdout.decode())
r, w = os.pipe()
os.dup2(w, 40)
print(subprocess.run([sys.executable, "-c", LOOK], pass_fds=(40,), stdout=subprocess.PIPE).stdout.decode())
zoo.end()
