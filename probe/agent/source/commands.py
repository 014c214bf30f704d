class _Commands:
    """Answers requests. A flush, a snapshot and holds each run on a thread of their own,
    so that stats are answered meanwhile."""

    def __init__(self, agent):
        self._agent = agent
        self.sizes = _Sizes(agent)
        self.running = set()  # of "flush", "snapshot", "holds"
        self.snapshot_fd = None  # the descriptor that a snapshot is being written to
        self._rate = _FlushRate()
        self._finished = []  # (task, connection, answer), appended by the tasks' threads

    def answer(self, connection, line):
        """Returns the answer, or None if a task will give it."""
        number = None
        try:
            request = _decode(line)
            if _is_count(request.get("id"), _MAX_COUNT):
                number = request["id"]
            return self._execute(connection, request, number)
        except _Refusal as refusal:
            return _failure(number, refusal)
        except Exception as error:
            _log_failure("answering")
            return _failure(number, _Refusal("internal", _first_line(error)))

    def _execute(self, connection, request, number):
        command, proto = request.get("cmd", ""), request.get("proto")
        if not isinstance(command, str):
            raise _Refusal("bad_request", "cmd is not a string")
        if command == "hello" and proto is not None and not isinstance(proto, str):
            raise _Refusal("bad_request", "proto is not a string")
        if number is None:
            raise _Refusal("bad_request", "id is missing, or no integer from 0 to 2^53")
        if isinstance(proto, str) and proto and proto != _PROTOCOL and not proto.startswith(_PROTOCOL + "."):
            raise _Refusal("wrong_version", "this is " + _PROTOCOL)
        if command == "stats":
            return dict({"id": number, "ok": True}, **_public(self._agent.memory.report(request.get("fresh") is True)))
        if command == "hello":
            return dict({"id": number, "ok": True}, **self.hello())
        if command == "flush":
            self._flush(connection, _flush_request(request), number)
            return None
        if command == "snapshot":
            self._snapshot(connection, _snapshot_request(request), number)
            return None
        if command == "holds":
            self._holds(connection, _chosen_devices(request), number)
            return None
        if command == "bye":
            connection.last = True
            return {"id": number, "ok": True}
        if command == "":
            raise _Refusal("bad_request", "cmd is missing")
        raise _Refusal("unknown_command", "%s has no command %s" % (_PROTOCOL, _clip(ascii(command))))

    def hello(self):
        agent = self._agent
        self.sizes.refresh(agent.evictable.sizes())
        evictable = agent.evictable.describe(self.sizes)
        capabilities = ["flush"] if agent.memory.can_flush() or evictable else []
        if agent.memory.can_snapshot():
            capabilities.append("snapshot")
            if agent.memory.no_holds() is None:
                capabilities.append("holds")
        hello = {
            "proto": _PROTOCOL,
            "pid": agent.pid,
            "starttime": agent.start_time,
            "runtimes": agent.memory.runtimes(),
            "capabilities": capabilities,
        }
        if evictable:
            hello["evictable"] = evictable
        if agent.started_by:
            hello["started_by"] = agent.started_by
        return hello

    def _flush(self, connection, request, number):
        memory, evictable = self._agent.memory, self._agent.evictable
        if not memory.can_flush() and not evictable.describe():
            names = " and ".join(r["name"] for r in memory.runtimes())
            message = names + " cannot free cached memory" if names else "no library here uses GPU memory"
            raise _Refusal("unsupported", message)
        if "flush" in self.running:
            raise _Refusal("busy", "another flush is running")
        wait = 0 if request["dry_run"] else self._rate.take()
        if wait:
            raise _Refusal("rate_limited", "too many flushes: again in %.1f s" % wait)
        self._start_task("flush", connection, number, lambda: memory.flush(request, evictable))

    def _still_wanted(self, connection):
        """Returns whether the monitor is still connected and the program continues. Raises _Filtered or _Lost."""
        self._agent.status.check()
        return connection.sock.fileno() >= 0 and not self._agent.stopping

    def _holds(self, connection, uuids, number):
        memory = self._agent.memory
        reason = memory.no_holds()
        if reason is not None:
            raise _Refusal("unsupported", reason)
        if "holds" in self.running:
            raise _Refusal("busy", "the same question is being answered")

        def wanted():
            if not self._still_wanted(connection):
                raise _Refusal("internal", "the monitor has disconnected")

        self._start_task("holds", connection, number, lambda: memory.holds(uuids, wanted))

    def _snapshot(self, connection, wanted, number):
        agent = self._agent
        agent.memory.refuse_snapshot(wanted)
        _check_snapshot_fd(connection.fd)
        if "snapshot" in self.running:
            raise _Refusal("busy", "another snapshot is running")

        out = _SnapshotFile(connection.fd, lambda: self._still_wanted(connection))

        def write():
            try:
                return agent.memory.snapshot(wanted, out)
            finally:
                self.close_snapshot_fd()

        self.snapshot_fd, connection.fd = connection.fd, None
        try:
            self._start_task("snapshot", connection, number, write)
        except _Refusal:
            self.close_snapshot_fd()
            raise

    def close_snapshot_fd(self):
        # The descriptor is forgotten before it is closed: a child that is forked in between
        # must not close the next descriptor of that number.
        fd, self.snapshot_fd = self.snapshot_fd, None
        if fd is not None:
            posix.close(fd)

    def _start_task(self, task, connection, number, work):
        self.running.add(task)
        connection.waiting = True
        try:
            self._agent.start_thread(self._run_task, task, connection, number, work)
        except RuntimeError as error:
            self.running.discard(task)
            connection.waiting = False
            raise _Refusal("internal", "a %s needs a thread: %s" % (task, _thread_failure(error)))

    def _run_task(self, task, connection, number, work):
        try:
            answer = dict({"id": number, "ok": True}, **work())
        except _Refusal as refusal:
            answer = _failure(number, refusal)
        except BaseException as error:
            _log_failure("in a " + task)
            answer = _failure(number, _Refusal("internal", _first_line(error)))
        self._finished.append((task, connection, answer))

    def finished(self):
        """Yields (connection, answer) of the tasks that have ended since the last call."""
        while self._finished:
            task, connection, answer = self._finished.pop(0)
            self.running.discard(task)
            if task == "flush":
                self.sizes.invalidate()
            connection.waiting = False
            yield connection, answer
