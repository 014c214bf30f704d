class _Agent:
    """The probe of one process: a thread that watches, then serves."""

    def __init__(self, evictable, started_by="import"):
        self.evictable = evictable
        self.started_by = started_by
        self.pid = os.getpid()
        self.uid = os.geteuid()
        self.started = False
        self._once = _thread.allocate_lock()
        self.serving = False
        self.at_once = False  # serve without waiting for a GPU to be used
        self._leaving = False
        self._place = None
        self._connections = {}
        self._finished = []  # (what, connection, answer) of flushes and snapshots
        self._under_way = set()  # which of the two
        self._lent = None  # the descriptor that a snapshot is written into
        self._bucket = _Bucket()
        self._wake = None
        self._ended = None

    def start(self, at_once=False):
        """Starts the thread, once. Whoever calls it is not held up."""
        self.at_once = self.at_once or at_once
        if not self._once.acquire(False):
            self._rouse()
            return
        self.started = True
        with _imports:
            # All that the thread needs, here rather than there: it is the program that imports.
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
        self._sizes = _Sizes(self.memory.stand)
        self._wake = socket.socketpair()
        for end in self._wake:
            end.setblocking(False)
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        # The thread inherits the mask: signals are the program's. Those that a
        # fault in the thread itself raises must stay.
        faults = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP}
        old = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - faults)
        try:
            _thread.start_new_thread(self._run, ())
        except BaseException:
            # Whoever asks again hears the reason again. The import hook does
            # not: to it, this has been tried.
            for end in self._wake:
                end.close()
            self._wake = self._ended = None
            self._once.release()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)
        atexit.register(self.leave)

    def retire(self):
        """Never starts."""
        self.started = self._once.acquire(False)

    def _rouse(self):
        try:
            self._wake[1].send(b"!")
        except (OSError, AttributeError, TypeError):
            pass  # full: it is awake; closed: it has ended

    def leave(self):
        """The program ends: the thread must not be in the middle of something."""
        if os.getpid() != self.pid or self._ended is None:
            return
        self._leaving = True
        self._rouse()
        until = _monotonic() + _LEAVE_TIME
        self._ended.acquire(True, _LEAVE_TIME)
        self._sizes.leave(max(until - _monotonic(), 0))
        if self._place is not None:
            self._place.leave()

    def forget(self):
        """In a forked child: closes what is the parent's."""
        for connection in list(self._connections.values()):
            connection.close()
        if self._lent is not None:
            os.close(self._lent)
        if self._place is not None:
            self._place.close()
        for end in self._wake or ():
            end.close()

    # -- Life

    def _run(self):
        try:
            with open("/proc/thread-self/comm", "w") as file:
                file.write("vramscope")
        except OSError:
            pass  # a name to be told apart by in top, no more
        try:
            if self._watch():
                self._serve()
        except BaseException:
            _complain("at work")
        finally:
            try:
                self._close_all()
            except BaseException:
                _complain("at the end")
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
            pass  # nothing there

    def _watch(self):
        """Waits until a library uses a GPU. False where the program ends first."""
        begun = _monotonic()
        while not self._leaving:
            if self.at_once or self.memory.in_use():
                return True
            # The longer nothing happens, the less it is looked for.
            self._pause(0.5 if _monotonic() - begun < 60 else 2.0)
        return False

    def _serve(self):
        self.uid = os.geteuid()  # it may have changed since the start
        self._place = _Place(self.uid, self.pid, self.start_time)
        self.memory.preloaded.take_over()
        wait = _PLACE_TIME
        while not self._place.bind():
            # A full disk, a directory of another's: both may be mended.
            self._pause(wait)
            wait = min(wait * 2, 60.0)
            if self._leaving:
                return
        self.serving = True
        look = _monotonic() + _PLACE_TIME
        while not self._leaving:
            self._step(look)
            if _monotonic() >= look:
                if not self._place.standing():
                    self._place.bind()
                look = _monotonic() + _PLACE_TIME

    def _step(self, look):
        """Waits for something to do, and does it."""
        import select

        poll = select.poll()
        poll.register(self._wake[0], select.POLLIN)
        if self._place.listener is not None:
            poll.register(self._place.listener, select.POLLIN)
        until = look
        for fd, connection in self._connections.items():
            until = min(until, connection.deadline)
            if connection.outgoing:
                poll.register(fd, select.POLLOUT)
            else:
                # While it waits for its answer only its end is of interest.
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
                    self._attend(connection)
            elif self._place.listener is not None and fd == self._place.listener.fileno():
                self._accept()
        while self._finished:
            what, connection, answer = self._finished.pop(0)
            self._under_way.discard(what)
            if what == "flush":
                self._sizes.forget()
            connection.waiting = False
            if connection.sock.fileno() >= 0:
                self._send(connection, answer)
                self._attend(connection)
        now = _monotonic()
        for connection in list(self._connections.values()):
            if now >= connection.deadline:
                self._drop(connection)

    def _close_all(self):
        for connection in list(self._connections.values()):
            self._drop(connection)
        if self._place is not None:
            self._place.leave()
        for end in self._wake:
            end.close()

    # -- Connections

    def _accept(self):
        import socket
        import struct

        try:
            sock, _ = self._place.listener.accept()
        except OSError as error:
            if not isinstance(error, (BlockingIOError, ConnectionError)):
                # Out of descriptors, most likely: the program's own business,
                # which is not made worse by trying at full speed.
                self._pause(0.1)
            return
        sock.setblocking(False)
        refusal = None
        uid = struct.unpack("iII", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        if uid not in (self.uid, 0):
            refusal = _Refusal("forbidden", "this is user %d's process; you are user %d" % (self.uid, uid))
        elif len(self._connections) >= _CONNECTIONS:
            refusal = _Refusal("busy", "%d monitors are connected already" % _CONNECTIONS)
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

    def _attend(self, connection):
        """Writes what is to be written, else reads; then answers what has come."""
        # A deadline is for a whole line: more of the same line does not move it.
        moved = not connection.incoming
        try:
            if connection.outgoing:
                sent = connection.sock.send(connection.outgoing)
                connection.outgoing = connection.outgoing[sent:]
                if connection.outgoing:
                    return
                moved = True
            elif not connection.waiting:
                if not connection.read():
                    self._drop(connection)
                    return
        except BlockingIOError:
            pass  # nothing new; there may be something left
        except OSError:
            self._drop(connection)
            return
        while not (connection.outgoing or connection.waiting or connection.last):
            try:
                line = connection.next_line()
            except _Refusal as refusal:
                # Where the next request would begin is not known any more.
                connection.last = True
                self._send(connection, _failure(None, refusal))
                break
            if line is None:
                break
            moved = True
            self._answer(connection, line)
            connection.drop_lent()
        if connection.sock.fileno() < 0:
            return
        if connection.last and not connection.outgoing:
            self._drop(connection)
        elif moved:
            connection.expect()

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
        connection.expect()

    # -- Answers

    def _answer(self, connection, line):
        number = None
        try:
            request = _decode(line)
            if _is_count(request.get("id"), _MAX_COUNT):
                number = request["id"]
            answer = self._do(connection, request, number)
        except _Refusal as refusal:
            answer = _failure(number, refusal)
        except Exception as error:
            _complain("answering")
            answer = _failure(number, _Refusal("internal", _first_line(error)))
        if answer is not None:
            self._send(connection, answer)

    def _do(self, connection, request, number):
        """The answer; None where it comes later."""
        command, proto = request.get("cmd", ""), request.get("proto")
        if not isinstance(command, str):
            raise _Refusal("bad_request", "cmd is not a word")
        if command == "hello" and proto is not None and not isinstance(proto, str):
            raise _Refusal("bad_request", "proto is not a word")
        if number is None:
            raise _Refusal("bad_request", "id is missing, or no integer from 0 to 2^53")
        if isinstance(proto, str) and proto and proto != _PROTOCOL and not proto.startswith(_PROTOCOL + "."):
            raise _Refusal("wrong_version", "this is " + _PROTOCOL)
        if command == "stats":
            return dict({"id": number, "ok": True}, **_public(self.memory.report()))
        if command == "hello":
            return dict({"id": number, "ok": True}, **self._hello())
        if command == "flush":
            self._flush(connection, _flush_request(request), number)
            return None
        if command == "snapshot":
            self._snapshot(connection, _snapshot_request(request), number)
            return None
        if command == "bye":
            connection.last = True
            return {"id": number, "ok": True}
        if command == "":
            raise _Refusal("bad_request", "cmd is missing")
        raise _Refusal("unknown_command", "%s has no command %s" % (_PROTOCOL, _clip(ascii(command))))

    def _hello(self):
        self._sizes.ask(self.evictable.sizes())
        evictable = self.evictable.told(self._sizes)
        able = ["flush"] if self.memory.can_flush() or evictable else []
        if self.memory.can_snapshot():
            able.append("snapshot")
        hello = {
            "proto": _PROTOCOL,
            "pid": self.pid,
            "starttime": self.start_time,
            "runtimes": self.memory.runtimes(),
            "capabilities": able,
        }
        if evictable:
            hello["evictable"] = evictable
        if self.started_by:
            hello["started_by"] = self.started_by
        return hello

    def _flush(self, connection, request, number):
        """Has a thread of its own flush: books can be read meanwhile."""
        if not self.memory.can_flush() and not self.evictable.told():
            names = " and ".join(r["name"] for r in self.memory.runtimes())
            message = names + " cannot give memory back" if names else "no library here holds GPU memory"
            raise _Refusal("unsupported", message)
        if "flush" in self._under_way:
            raise _Refusal("busy", "another flush is under way")
        wait = 0 if request["dry_run"] else self._bucket.take()
        if wait:
            raise _Refusal("rate_limited", "too many flushes: again in %.1f s" % wait)
        self._apart("flush", connection, number, lambda: self.memory.flush(request, self.evictable))

    def _snapshot(self, connection, wanted, number):
        """Has a thread of its own write it: books can be read meanwhile."""
        self.memory.refuse_snapshot(wanted)
        _check_lent(connection.lent)
        if "snapshot" in self._under_way:
            raise _Refusal("busy", "another snapshot is under way")
        out = _Lent(connection.lent, lambda: connection.sock.fileno() >= 0 and not self._leaving)

        def write():
            try:
                return self.memory.snapshot(wanted, out)
            finally:
                # In this order: a child that is forked in between must not
                # close what is another's by then.
                fd, self._lent = self._lent, None
                os.close(fd)

        self._lent, connection.lent = connection.lent, None
        try:
            self._apart("snapshot", connection, number, write)
        except _Refusal:
            fd, self._lent = self._lent, None
            os.close(fd)
            raise

    def _apart(self, what, connection, number, work):
        """Does what takes its time on a thread of its own."""
        self._under_way.add(what)
        connection.waiting = True
        try:
            _thread.start_new_thread(self._work, (what, connection, number, work))
        except RuntimeError as error:
            self._under_way.discard(what)
            connection.waiting = False
            raise _Refusal("internal", "a %s needs a thread: %s" % (what, _no_thread(error)))

    def _work(self, what, connection, number, work):
        try:
            answer = dict({"id": number, "ok": True}, **work())
        except _Refusal as refusal:
            answer = _failure(number, refusal)
        except BaseException as error:
            _complain("at a " + what)
            answer = _failure(number, _Refusal("internal", _first_line(error)))
        self._finished.append((what, connection, answer))
        self._rouse()
