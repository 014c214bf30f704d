"""Programs that start other programs, or become other programs."""

from zoocheck.case import ABRUPT, FORKS, Case

SPAWNED = {"unordered": True, "meetings": 3, "leaves": ABRUPT}

CASES = [
    Case("fork", script="fork.py", normalise=FORKS),
    Case("fork, child uses the GPU", script="fork_child.py", leaves=ABRUPT, normalise=FORKS),
    Case("fork, then both fork", script="fork_tree.py", meetings=4, unordered=True, normalise=FORKS),
    Case("fork from a thread", script="fork_thread.py", normalise=FORKS),
    Case("os.register_at_fork", script="at_fork.py", normalise=FORKS),
    Case("multiprocessing fork", script="multi.py", arguments=("fork",), normalise=FORKS, **SPAWNED),
    Case("multiprocessing spawn", script="multi.py", arguments=("spawn",), **SPAWNED),
    Case("multiprocessing forkserver", script="multi.py", arguments=("forkserver",), **SPAWNED),
    Case("multiprocessing.Pool", script="pool.py", normalise=FORKS),
    Case("ProcessPoolExecutor", script="executor.py", arguments=("spawn",), meetings=2, unordered=True, leaves=ABRUPT),
    Case("ProcessPoolExecutor, fork", script="executor.py", arguments=("fork",), meetings=2, unordered=True, leaves=ABRUPT, normalise=FORKS),
    Case("multiprocessing.Manager", script="manager.py", normalise=FORKS),
    Case("data loader, fork", script="loader.py", arguments=("fork",), normalise=FORKS),
    Case("data loader, spawn", script="loader.py", arguments=("spawn",)),
    Case("data loader, forkserver", script="loader.py", arguments=("forkserver",)),
    Case("shared memory", script="shared_memory.py", normalise=FORKS),
    Case("subprocess", script="children.py"),
    Case("posix_spawn", script="spawn.py"),
    Case("inherited descriptors", script="inherited.py"),
    Case("shell pipelines", script="pipelines.py"),
    Case("zombie children", script="zombies.py", normalise=FORKS),
    Case("orphans", script="orphans.py", leaves=ABRUPT, normalise=FORKS),
    Case("daemon", script="daemon.py", normalise=FORKS),
    Case("exec chain", script="execs.py", meetings=3),
    Case("exec of another program", script="execs_away.py", exit=11, leaves=ABRUPT),
    Case("pseudo-terminal child", script="ptyfork.py", normalise=FORKS),
]
