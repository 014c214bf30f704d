class _Agent:
    """The probe of one process: a thread that waits for a GPU to be used, then serves."""

    def __init__(self, evictable, started_by="import"):
        self.evictable = evictable
        self.started_by = started_by
        self.pid = os.getpid()
        self.uid = os.geteuid()
        self.started = False
        self._once = _thread.allocate_lock()
        self.serving = False
        self.at_once = False  # serve even if no GPU is in use
        self.stopping = False
        self.commands = None
        self._listener = None
        self._connections = {}
        self._wake = None  # a socket pair; a byte interrupts the thread's poll
        self._ended = None

    def start(self, at_once=False):
        """Starts the thread, once."""
        self.at_once = self.at_once or at_once
        if not self._once.acquire(False):
            self.wake()
            return
        self.started = True
        with _imports:
            # Imported here, on the program's thread, for the probe's thread.
            import atexit
            import errno  # noqa: F401
            import fcntl  # noqa: F401
            import gc  # noqa: F401
            import json  # noqa: F401
            import select  # noqa: F401
            import signal
            import socket
            import stat  # noqa: F401
            import struct  # noqa: F401

        global _monotonic, _time_ns
        from time import monotonic as _monotonic, time_ns as _time_ns

        self.start_time = _start_time("self")
        self.memory = _Memory()
        self.commands = _Commands(self)
        self._wake = socket.socketpair()
        for end in self._wake:
            end.setblocking(False)
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        # The thread inherits the signal mask. Signals are the program's; those that
        # a fault in the thread raises stay unblocked.
        faults = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP}
        old = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - faults)
        try:
            _thread.start_new_thread(self._run, ())
        except BaseException:
            # A later start() tries again. The import hook does not: started is set.
            for end in self._wake:
                end.close()
            self._wake = self._ended = None
            self._once.release()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)
        atexit.register(self.stop)

    def retire(self):
        """Prevents every later start."""
        self.started = self._once.acquire(False)

    def wake(self):
        try:
            self._wake[1].send(b"!")
        except (OSError, AttributeError, TypeError):
            pass  # full: the thread is awake; closed: it has ended

    def stop(self):
        """Ends the thread at the program's exit, and waits for it up to _STOP_TIME."""
        if os.getpid() != self.pid or self._ended is None:
            return
        self.stopping = True
        self.wake()
        until = _monotonic() + _STOP_TIME
        self._ended.acquire(True, _STOP_TIME)
        self.commands.sizes.stop(max(until - _monotonic(), 0))
        if self._listener is not None:
            self._listener.remove()

    def close_inherited(self):
        """In a forked child: closes the parent's descriptors."""
        for connection in list(self._connections.values()):
            connection.close()
        if self.commands is not None:
            self.commands.close_snapshot_fd()
        if self._listener is not None:
            self._listener.close()
        for end in self._wake or ():
            end.close()

    # -- The thread

    def _run(self):
        try:
            with open("/proc/thread-self/comm", "w") as file:
                file.write("vramscope")
        except OSError:
            pass  # the thread has no name in top
        try:
            if self._wait_for_gpu():
                self._serve()
        except BaseException:
            _log_failure("serving")
        finally:
            try:
                self._close_all()
            except BaseException:
                _log_failure("closing")
            self._ended.release()

    def _pause(self, seconds):
        import select

        poll = select.poll()
        poll.register(self._wake[0], select.POLLIN)
        if poll.poll(seconds * 1000):
            self._drain()

    def _drain(self):
        try:
            self._wake[0].recv(64)
        except OSError:
            pass  # empty

    def _wait_for_gpu(self):
        """Waits until a library uses a GPU. False if the program exits first."""
        began = _monotonic()
        while not self.stopping:
            if self.at_once or self.memory.in_use():
                return True
            # After a minute without use, check less often.
            self._pause(0.5 if _monotonic() - began < 60 else 2.0)
        return False

    def _serve(self):
        self.uid = os.geteuid()  # the program may have changed it
        self._listener = _Listener(self.uid, self.pid, self.start_time)
        self.memory.preloaded.take_over()
        wait = _CHECK_TIME
        while not self._listener.bind():
            # A full disk or a foreign directory: either may be repaired.
            self._pause(wait)
            wait = min(wait * 2, 60.0)
            if self.stopping:
                return
        self.serving = True
        check = _monotonic() + _CHECK_TIME
        while not self.stopping:
            self._step(check)
            if _monotonic() >= check:
                if not self._listener.reachable():
                    self._listener.bind()
                check = _monotonic() + _CHECK_TIME

    def _step(self, until):
        """Waits for an event, until a time at most, and handles it."""
        import select

        poll = select.poll()
        poll.register(self._wake[0], select.POLLIN)
        if self._listener.sock is not None:
            poll.register(self._listener.sock, select.POLLIN)
        for fd, connection in self._connections.items():
            until = min(until, connection.deadline)
            if connection.outgoing:
                poll.register(fd, select.POLLOUT)
            else:
                # While its task runs, only the connection's end is polled for.
                poll.register(fd, 0 if connection.waiting else select.POLLIN)
        ready = poll.poll(max(until - _monotonic(), 0) * 1000 + 1)
        for fd, _ in ready:
            if fd == self._wake[0].fileno():
                self._drain()
            elif fd in self._connections:
                connection = self._connections[fd]
                if connection.waiting and not connection.outgoing:
                    self._drop(connection)
                else:
                    self._handle(connection)
            elif self._listener.sock is not None and fd == self._listener.sock.fileno():
                self._accept()
        for connection, answer in self.commands.finished():
            if connection.sock.fileno() >= 0:
                self._send(connection, answer)
                self._handle(connection)
        now = _monotonic()
        for connection in list(self._connections.values()):
            if now >= connection.deadline:
                self._drop(connection)

    def _close_all(self):
        for connection in list(self._connections.values()):
            self._drop(connection)
        if self._listener is not None:
            self._listener.remove()
        for end in self._wake:
            end.close()

    # -- Connections

    def _accept(self):
        import socket
        import struct

        try:
            sock, _ = self._listener.sock.accept()
        except OSError as error:
            if not isinstance(error, (BlockingIOError, ConnectionError)):
                # Most likely out of descriptors, because of the program: do not spin.
                self._pause(0.1)
            return
        sock.setblocking(False)
        refusal = None
        uid = struct.unpack("iII", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        if uid not in (self.uid, 0):
            refusal = _Refusal("forbidden", "this is user %d's process; you are user %d" % (self.uid, uid))
        elif len(self._connections) >= _MAX_CONNECTIONS:
            refusal = _Refusal("busy", "%d monitors are already connected" % _MAX_CONNECTIONS)
        if refusal is None:
            self._connections[sock.fileno()] = _Connection(sock)
            return
        try:
            sock.send(_encode(_failure(None, refusal)))  # a new connection's buffer is empty
        except OSError:
            pass
        sock.close()

    def _drop(self, connection):
        self._connections.pop(connection.sock.fileno(), None)
        connection.close()

    def _handle(self, connection):
        """Writes what is pending, else reads; then answers every complete request."""
        # The deadline is for a whole line: a part of one does not extend it.
        progress = not connection.incoming
        try:
            if connection.outgoing:
                sent = connection.sock.send(connection.outgoing)
                connection.outgoing = connection.outgoing[sent:]
                if connection.outgoing:
                    return
                progress = True
            elif not connection.waiting:
                if not connection.read():
                    self._drop(connection)
                    return
        except BlockingIOError:
            pass  # nothing to read; incoming may still hold requests
        except OSError:
            self._drop(connection)
            return
        while not (connection.outgoing or connection.waiting or connection.last):
            try:
                line = connection.next_line()
            except _Refusal as refusal:
                # The start of the next request is unknown.
                connection.last = True
                self._send(connection, _failure(None, refusal))
                break
            if line is None:
                break
            progress = True
            answer = self.commands.answer(connection, line)
            if answer is not None:
                self._send(connection, answer)
            connection.close_fd()
        if connection.sock.fileno() < 0:
            return
        if connection.last and not connection.outgoing:
            self._drop(connection)
        elif progress:
            connection.set_deadline()

    def _send(self, connection, answer):
        connection.outgoing += _encode(answer)
        try:
            sent = connection.sock.send(connection.outgoing)
            connection.outgoing = connection.outgoing[sent:]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(connection)
            return
        connection.set_deadline()
