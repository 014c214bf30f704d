"""A child has a terminal, and the parent prints what the child writes there."""

import os
import pty
import sys

import zoo

if len(sys.argv) > 1:
    zoo.meet()
    print("terminal", os.isatty(0), os.isatty(1), os.get_terminal_size() is not None)
    zoo.end()
    sys.exit(4)
code = pty.spawn([sys.executable, __file__, "child"])
print(os.WEXITSTATUS(code))
