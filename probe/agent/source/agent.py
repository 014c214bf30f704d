class _Agent:
    """The probe of one process: a thread that waits for a GPU to be used, then serves."""

    def __init__(self, evictable, started_by="import"):
        self.evictable = evictable
        self.started_by = started_by
        self.pid = posix.getpid()
        self.started = False
        self.serving = False
        self.failure = None  # the error that ended the thread before it served
        self.at_once = False  # serve even if no GPU is in use
        self.stopping = False
        self.filtered = False  # the program has installed a seccomp filter
        self.memory = None
        self.commands = None
        self.start_time = None
        self.status = None  # the thread's _Status; None until a descriptor is free for it
        self._once = _allocate_lock()
        self._bell = _allocate_lock()  # released to interrupt a pause of the thread
        self._bell.acquire()
        self._server = None
        self._socket = None
        self._begun = _allocate_lock()  # released when the thread begins to look for filters
        self._begun.acquire()
        self._ended = None  # released when the thread ends
        self._atexit = None  # the module that stop is registered with
        self._tasks = []  # for the thread of each task, a lock that is released when the thread ends

    def start(self, at_once=False, socket=None):
        """Starts the thread, once. If socket is a list, the calling thread becomes the probe's. The list
        may contain (descriptor, path) of a socket that listens already; it is emptied when the probe
        takes the socket over."""
        self.at_once = self.at_once or at_once
        if not self._once.acquire(False):
            self.wake()
            return
        self.started = True
        self._socket = socket
        try:
            self._start_thread(here=socket is not None)
        except BaseException:
            # A later start() tries again. The import hook does not: started is set.
            self._once.release()
            raise
        # A new thread makes its first system calls before it can look for filters. While this
        # thread waits, it installs none.
        self._begun.acquire(True, _START_TIME)

    def _start_thread(self, here):
        global _poll
        if not here:
            _refuse_filters()
        for name in ("_ctypes", "_json", "_signal", "_socket", "select"):
            _library(name)
        try:
            # pthread_exit loads this library, and aborts the program if it cannot. Python before
            # 3.11 ends every thread by pthread_exit, Python before 3.14 those that outlive Python.
            _Foreign().open("libgcc_s.so.1")
        except OSError:
            pass  # not glibc
        _poll = _original("select", "poll")
        if _replaced:
            raise RuntimeError("the program has replaced %s: the probe would run in its event loop" % _replaced[0])
        self.memory = _Memory()
        self.memory.observe_early()
        self.commands = _Commands(self)
        self._ended = _allocate_lock()
        self._ended.acquire()
        # The thread inherits the signal mask. Signals are the program's; those that
        # a fault in the thread raises stay unblocked.
        _signal = _library("_signal")
        faults = {_signal.SIGSEGV, _signal.SIGBUS, _signal.SIGFPE, _signal.SIGILL, _signal.SIGABRT, _signal.SIGTRAP}
        old = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals() - faults)
        try:
            if here:
                self.status = _Status()
            else:
                _refuse_filters()
                _start_new_thread(self._run, ())
        except BaseException:
            self._ended = None
            raise
        finally:
            if not here:
                _signal.pthread_sigmask(_signal.SIG_SETMASK, old)
        self.stop_at_exit()
        if here:
            self._run()
            if self.failure is not None:
                raise self.failure

    def stop_at_exit(self):
        """Registers stop to run at exit. Before Python 3.10 only the newest instance of the atexit
        module counts, which the program may have imported since the last call."""
        atexit = _library("atexit")
        if atexit is not self._atexit and (self._atexit is None or sys.version_info < (3, 10)):
            self._atexit = atexit
            atexit.register(self.stop)

    def retire(self):
        """Prevents every later start."""
        self.started = self._once.acquire(False)

    def _ring(self):
        try:
            self._bell.release()
        except RuntimeError:
            pass  # it rings already

    def wake(self):
        self._ring()
        if self._server is not None:
            self._server.wake()

    def stop(self):
        """Ends the probe's threads at the program's exit, and waits for them up to _STOP_TIME, or
        up to _RECORD_STOP_TIME if there is an out-of-memory error to leave.

        The program's own thread only closes a pipe and waits for locks: a seccomp
        filter might kill it for more. The probe's thread removes the socket.
        """
        if self._ended is None:
            return
        self.stopping = True
        self._ring()
        if self._server is not None:
            self._server.hang_up()
        self.commands.sizes.stop()
        until = _monotonic() + (_RECORD_STOP_TIME if self.memory.has_failed() else _STOP_TIME)
        for ended in [self._ended] + self._tasks:
            ended.acquire(True, max(until - _monotonic(), 0))

    def close_inherited(self):
        """In a forked child: closes the parent's descriptors."""
        self._ended = None
        if self.status is not None and self.status.inherited():
            if self._server is not None:
                self._server.close()
            self.commands.close_snapshot_fd()
            self.status.close_inherited()

    def start_thread(self, work, *arguments):
        """Starts a thread for a task."""
        self.status.check()
        ended = _allocate_lock()
        ended.acquire()
        self._tasks.append(ended)
        try:
            _start_new_thread(self._run_task, (ended, work, arguments))
        except BaseException:
            self._tasks.remove(ended)
            raise

    def _run_task(self, ended, work, arguments):
        try:
            work(*arguments)
        except BaseException:
            _log_failure("in a thread")
        try:
            self.status.check()
            self.wake()
        except _Filtered:
            self.filtered = True
        except BaseException:
            pass  # the probe's thread has ended, or meets the same error
        self._tasks.remove(ended)
        self._end(ended)

    def _end(self, ended):
        """Ends this thread. Under a new seccomp filter it stops the thread for good instead: a thread's
        end makes system calls."""
        ended.release()
        if self.filtered:
            lock = _allocate_lock()
            lock.acquire()
            lock.acquire()

    # -- The thread

    def _run(self):
        try:
            try:
                _name_thread()
                self.status = self.status or _Status()
            except OSError:
                pass  # no descriptor is free: _live tries again
            finally:
                self._begun.release()
            self._live()
            self._say_last()
        except _Filtered:
            self.filtered = True
        except BaseException as error:
            _log_failure("serving")
            self.failure = None if self.serving else error
        try:
            _steps.remove()
            _holders.unwatch()
            self._close(remove=not self.filtered)
        except BaseException:
            _log_failure("closing")
        self._end(self._ended)

    def _live(self):
        """Waits until a library uses a GPU, then serves until the program exits."""
        wait = _CHECK_TIME
        while not self.stopping:
            try:
                self.status = self.status or _Status()
                self._wait_for_gpu()
                self._serve()
            except _Lost:
                self.status = None
                if self._server is not None:
                    self._server.forget()
                    self._server = None
            except OSError:
                # Most likely the program has used up the descriptors.
                _log_failure("serving")
                self._close(remove=True)
                self._bell.acquire(True, wait)
                wait = min(wait * 2, 60.0)

    def _say_last(self):
        """Sends an out-of-memory error that the program exits with, and leaves it in a file: no monitor can
        ask for it later, and perhaps no monitor has found this probe yet."""
        if self.status is None or not self.memory.has_failed():
            return
        self.status.check()
        report = self.memory.last_report()
        if report is None:
            return
        last = dict({"id": None, "ok": True, "last": True}, **_public(report))
        if self._server is not None:
            self._server.send_unasked(last)
        self.status.check()
        self.start_time = self.start_time or _start_time("self")
        command = [_clip(os.fsdecode(word)) for word in _read("/proc/self/cmdline")[:-1].split(b"\0")[:_MAX_WORDS]]
        record = _encode(dict(last, command=command, **self.commands.hello()))
        _Listener(posix.geteuid(), self.pid, self.start_time, self.status.check).leave(record)

    def _close(self, remove):
        server, self._server = self._server, None
        if server is not None:
            if remove:
                server.remove()
            server.close()
        status, self.status = self.status, None
        if status is not None:
            status.close()

    def pause(self, seconds):
        self._bell.acquire(True, seconds)
        self.status.check()

    def _wait_for_gpu(self):
        began = _monotonic()
        while not (self.stopping or self.at_once or self.memory.in_use()):
            # After a minute without use, check less often.
            self.pause(0.5 if _monotonic() - began < 60 else 2.0)

    def _serve(self):
        if self.stopping:
            return
        self.status.check()
        self.start_time = _start_time("self")
        server = self._server = _Server(self)
        self.memory.preloaded.take_over()
        self.memory.observe()
        adopted = bool(self._socket) and server.listener.adopt(*self._socket[0])
        if self._socket:
            self._socket.clear()
        wait = _CHECK_TIME
        while not (adopted or server.listener.bind()):
            # The disk may be full, or the directory another user's. A later attempt may succeed.
            self.pause(wait)
            wait = min(wait * 2, 60.0)
            if self.stopping:
                return
        self.serving = True
        server.serve()
