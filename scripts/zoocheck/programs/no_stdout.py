import os
import sys

import zoo

zoo.use()
sys.stdout = sys.stderr = sys.stdin = None
zoo.meet()
os.write(1, b"intact\n" if zoo.intact() else b"broken\n")
