"""Becomes another user, as a server that root has started does."""

import os

import zoo

zoo.use()
if os.getuid() == 0:
    os.chmod(os.environ["ZOO_MEET"], 0o777)
    os.chmod(os.path.dirname(os.environ["ZOO_MEET"]), 0o755)
    os.setgid(65534)
    os.setuid(65534)
zoo.meet()
zoo.end()
