class _Looker:
    """Sees each import, finds nothing, and starts the thread at the right one."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if path is not None and not _agent.started and name.partition(".")[0] in _LIBRARIES:
            _start()
        return None


_evictable = _Evictable()
# Whoever attaches says so in the module before it is executed: where a library
# is there already, that starts the thread.
_agent = _Agent(_evictable, globals().get("_started_by", "import"))


def _start(at_once=False, started_by=None):
    """Starts the probe; at once: it serves although nothing uses a GPU yet.

    started_by is how it got into the program: "run", "attach"; otherwise the
    program itself has imported it. Returns why it could not be, or None.
    """
    try:
        if started_by is not None and not _agent.started:
            _agent.started_by = started_by
        _agent.start(at_once)
    except Exception as error:
        _complain("starting")
        return _no_thread(error, ", or start the program with vramscope run")
    return None


def _after_fork():
    """In a forked child. It serves for itself only once it uses a GPU itself, which
    it cannot where its parent did: CUDA does not survive a fork."""
    global _agent, _imports
    try:
        _imports = _thread.RLock()
        old, _agent = _agent, _Agent(_evictable, _agent.started_by)
        old.forget()
        if old.serving:
            _agent.retire()
        elif old.started:
            _agent.start()
    except Exception:
        _complain("after a fork")


def _install():
    if not sys.platform.startswith("linux") or sys.version_info < (3, 8):
        return
    try:
        os.register_at_fork(
            before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork
        )
        sys.meta_path.insert(0, _Looker)
        if any(library in sys.modules for library in _LIBRARIES):
            _start()
    except Exception:
        _complain("getting in")


def register_evictable(name, priority, evict, size=None):
    """Registers a cache of the program that a flush may empty.

    A selective or urgent flush calls evict(), on a thread of the probe, and
    then gives back what that has freed. The highest priority goes first. size
    is how many bytes of GPU memory it holds, or a callable that tells: while a
    monitor looks on it is called every few seconds, on a thread of the probe,
    so it should be quick. A name that is registered already is replaced.
    """
    _evictable.register(name, priority, evict, size)
    return evict


def unregister_evictable(name):
    """Takes a cache back. False where there was none of that name."""
    return _evictable.unregister(name)


_install()
