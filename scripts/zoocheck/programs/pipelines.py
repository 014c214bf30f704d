import os
import subprocess

import zoo

zoo.busy(lambda: subprocess.check_output("seq 100 | grep 7 | wc -l", shell=True) == b"19\n" or 1 / 0)
print(os.system("exit 3") >> 8, os.popen("echo popen").read())
zoo.end()
