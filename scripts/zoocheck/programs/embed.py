"""Builds a program that embeds this Python, and becomes it: embed.py main | initialize ROUNDS."""

import os
import subprocess
import sys
import sysconfig

HERE = os.path.dirname(os.path.abspath(__file__))
get = sysconfig.get_config_var
library = "python" + get("LDVERSION")
subprocess.run(["cc", "-o", "embedding", os.path.join(HERE, "embedding.c"), "-I" + sysconfig.get_path("include"),
                "-L" + get("LIBDIR"), "-Wl,-rpath," + get("LIBDIR"), "-l" + library, "-ldl", "-lm", "-lpthread"], check=True)
os.environ["PYTHONHOME"] = sys.base_prefix
os.execv("./embedding", ["./embedding"] + (["main", HERE + "/job.py"] if sys.argv[1] == "main" else sys.argv[1:]))
