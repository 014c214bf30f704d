class _Server:
    """The listening socket, and the connections of monitors."""

    def __init__(self, agent):
        self._agent = agent
        self._uid = posix.geteuid()  # read only now: the program may have changed its user before
        self.listener = _Listener(self._uid, agent.pid, agent.start_time, agent.status.check)
        self._connections = {}
        reading, writing = posix.pipe2(posix.O_NONBLOCK | posix.O_CLOEXEC)
        # A FileIO knows that it has been closed, whichever thread closed it.
        self._woken = _io.FileIO(reading, closefd=False)  # poll waits for it, too
        self._waker = _io.FileIO(writing, "w", closefd=False)
        self._hung_up = _allocate_lock()

    def wake(self):
        try:
            self._waker.write(b"!")
        except (OSError, ValueError):
            pass  # closed: the thread has ended

    def hang_up(self):
        """Wakes the thread as wake does, but by no system call other than close(2)."""
        if self._hung_up.acquire(False):
            _close(self._waker)

    def serve(self):
        agent = self._agent
        check = _monotonic() + _CHECK_TIME
        while not agent.stopping:
            self._step(check)
            if _monotonic() >= check and not agent.stopping:
                if not self.listener.reachable():
                    self.listener.bind()
                agent.stop_at_exit()
                check = _monotonic() + _CHECK_TIME

    def _step(self, until):
        """Waits for an event until a given time at most, and handles it."""
        poll = _poll()
        poll.register(self._woken, _POLLIN)
        if self.listener.sock is not None:
            poll.register(self.listener.sock, _POLLIN)
        for fd, connection in self._connections.items():
            until = min(until, connection.deadline)
            if connection.outgoing:
                poll.register(fd, _POLLOUT)
            else:
                # While its task runs, only the connection's end is polled for.
                poll.register(fd, 0 if connection.waiting else _POLLIN)
        timeout = max(until - _monotonic(), 0) * 1000 + 1
        self._agent.status.check()
        ready = poll.poll(timeout)
        self._agent.status.check()
        for fd, event in ready:
            if event & _POLLNVAL:
                raise _Lost
            if fd == self._woken.fileno():
                self._woken.read(64)
            elif fd in self._connections:
                connection = self._connections[fd]
                if connection.waiting and not connection.outgoing:
                    self._drop(connection)
                else:
                    self._handle(connection)
            elif self.listener.sock is not None and fd == self.listener.sock.fileno():
                self._accept()
        for connection, answer in self._agent.commands.finished():
            if connection.sock.fileno() >= 0:
                self._send(connection, answer)
                self._handle(connection)
        now = _monotonic()
        for connection in list(self._connections.values()):
            if now >= connection.deadline:
                self._drop(connection)

    # -- The end. Under a new seccomp filter only close() runs: it makes no system call but close(2).

    def close(self):
        for connection in list(self._connections.values()):
            self._drop(connection)
        self.listener.close()
        _close(self._woken)
        self.hang_up()

    def remove(self):
        """Removes the socket's name."""
        self.listener.remove()

    def forget(self):
        """Closes nothing: the descriptors' numbers may be files of the program's by now."""
        for connection in self._connections.values():
            connection.sock.detach()
            connection.fd = None
        if self.listener.sock is not None:
            self.listener.sock.detach()
        self._hung_up.acquire(False)
        self._woken.close()
        self._waker.close()
        self._agent.commands.snapshot_fd = None

    # -- Connections

    def _accept(self):
        _socket = _library("_socket")
        try:
            fd, _ = self.listener.sock._accept()
        except OSError as error:
            if not isinstance(error, (BlockingIOError, ConnectionError)):
                # Most likely the program has used up the descriptors: wait before the next attempt.
                self._agent.pause(0.1)
            return
        self._agent.status.check()
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fd)
        sock.setblocking(False)
        refusal = None
        uid = memoryview(sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)).cast("I")[1]
        if uid not in (self._uid, 0):
            refusal = _Refusal("forbidden", "this is user %d's process; you are user %d" % (self._uid, uid))
        elif len(self._connections) >= _MAX_CONNECTIONS:
            refusal = _Refusal("busy", "%d monitors are already connected" % _MAX_CONNECTIONS)
        if refusal is None:
            connection = self._connections[sock.fileno()] = _Connection(sock)
            self._handle(connection)  # the request has often come with the connection
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
        """Writes what is pending, or else reads. Then answers complete requests, until an answer has to wait."""
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
            answer = self._agent.commands.answer(connection, line)
            if answer is not None:
                self._send(connection, answer)
            connection.close_fd()
        if connection.sock.fileno() < 0:
            return
        if connection.last and not connection.outgoing:
            self._drop(connection)
        elif progress:
            connection.set_deadline()

    def send_unasked(self, answer):
        for connection in list(self._connections.values()):
            if not (connection.outgoing or connection.waiting):
                self._send(connection, answer)

    def _send(self, connection, answer):
        connection.outgoing += _encode(answer)
        self._agent.status.check()
        try:
            sent = connection.sock.send(connection.outgoing)
            connection.outgoing = connection.outgoing[sent:]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(connection)
            return
        connection.set_deadline()


def _close(file):
    """Closes a FileIO that does not close its descriptor itself."""
    fd = file.fileno()
    file.close()
    posix.close(fd)
