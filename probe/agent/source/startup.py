# The GPU libraries, the most important first.
_RUNTIMES = (_PyTorch, _JAX, _TensorFlow, _CuPy, _RMM)
_PACKAGES = frozenset(runtime.package for runtime in _RUNTIMES)


class _ImportHook:
    """Starts the probe when a runtime's package is imported. A later attach recognises the probe by
    this hook. A program also imports the probe of vramscope attach through it, because that probe
    is not in sys.modules.

    It acts on the import of a submodule, for which path is set: a package alone
    may be looked up without being imported (importlib.util.find_spec).
    """

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == __name__ and _itself is not None:
            return sys.modules["_frozen_importlib"].ModuleSpec(name, _ImportHook)
        if path is not None:
            package = name.partition(".")[0]
            if not _agent.started and package in _PACKAGES:
                _start()
            if package == _PyTorch.package and _agent.memory is not None:
                _agent.memory.observe_early()
        return None

    @staticmethod
    def create_module(spec):
        return _itself

    @staticmethod
    def exec_module(module):
        pass  # it has been executed


_permitted = _permitted_filters(_at_start)
_evictable = _Evictable()
_steps = _Steps()
_holders = _Holders(_steps)
# probe/attach and sitecustomize.py set _started_by in the module's namespace before they execute the module.
# probe/attach also sets _itself, which is the module.
_agent = _Agent(_evictable, globals().get("_started_by") or "import")
_itself = globals().get("_itself")


def _start(at_once=False, started_by=None, socket=None):
    """Starts the probe, and returns why it could not start, or None. With at_once the probe serves even if
    no GPU is in use. started_by replaces the agent's, unless the probe was started before. For socket see
    _Agent.start."""
    try:
        _install()
        if started_by is not None and not _agent.started:
            _agent.started_by = started_by
        _agent.start(at_once, socket)
    except Exception as error:
        _log_failure("starting")
        return _thread_failure(error, ", or start the program with vramscope run")
    return None


def _after_fork():
    """Runs in a forked child. The child serves only if it uses a GPU and its parent
    did not, because CUDA does not survive a fork."""
    global _agent, _no_fork
    try:
        _no_fork = _ForkLock()
        _CollectionOff.end()
        old, _agent = _agent, _Agent(_evictable, _agent.started_by)
        old.close_inherited()
        if old.serving:
            _agent.retire()
        elif old.started:
            _agent.start()
    except Exception:
        _log_failure("forking")


_installed = _allocate_lock()


def _install():
    """Installs the hooks, once."""
    if not sys.platform.startswith("linux") or sys.version_info < (3, 8) or not _installed.acquire(False):
        return
    try:
        posix.register_at_fork(
            before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork
        )
        sys.meta_path.insert(0, _ImportHook)
        if _agent.started_by != "attach" and any(package in sys.modules for package in _PACKAGES):
            _start()
    except Exception:
        _log_failure("installing")


def register_evictable(name, priority, evict, size=None):
    """Registers a cache of the program that a flush may empty.

    A selective or urgent flush calls evict() on a thread of the probe, then frees
    the memory that this returned to the allocator. The highest priority goes
    first. size is the cache's GPU memory in bytes, or a function that returns it.
    While a monitor is connected, a thread of the probe calls that function every few
    seconds, so it should be fast. A cache registered before under this name is replaced.
    """
    _evictable.register(name, priority, evict, size)
    return evict


def unregister_evictable(name):
    """Unregisters a cache. Returns False if there was none of that name."""
    return _evictable.unregister(name)


def step(steps=1):
    """Counts training steps, for programs without a PyTorch optimizer. Once called, only these calls count."""
    _steps.add(steps)


def stats():
    """Returns what the GPU libraries of this process hold now, read on this thread: devices with
    their allocators, as docs/protocol.md describes stats. The list of devices is empty if no library
    uses a GPU. Raises RuntimeError if the probe cannot run, or cannot read now.
    """
    if not any(package in sys.modules for package in _PACKAGES):
        return {"time_ns": _time_ns(), "devices": []}
    reason = _start()
    if _agent.memory is None:
        raise RuntimeError(reason or "a forked child of a program that used a GPU has no probe")
    try:
        return _public(_when_free(_agent.memory._fresh))
    except _Refusal as refusal:
        raise RuntimeError(str(refusal)) from None


# A probe of vramscope attach starts in _start: before that, probe/attach makes sure that it is the
# only one.
if _agent.started_by != "attach":
    _install()
