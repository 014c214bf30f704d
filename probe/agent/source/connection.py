class _Connection:
    """A monitor's connection. Requests are answered in order."""

    def __init__(self, sock):
        self.sock = sock
        self.incoming = bytearray()
        self.searched = 0  # no newline before this offset
        self.outgoing = b""
        self.fd = None  # a descriptor that came with the current request
        self.waiting = False  # for its flush, snapshot or holds
        self.last = False  # close once outgoing is written
        self.deadline = _monotonic() + _IDLE_TIME

    def next_line(self):
        """The next line that is not blank, or None. Raises a _Refusal if a line is too long."""
        while True:
            at = self.incoming.find(b"\n", self.searched)
            if at < 0:
                self.searched = len(self.incoming)
                if self.searched >= _MAX_LINE:
                    raise _Refusal("bad_request", "line of more than 256 KiB")
                return None
            if at >= _MAX_LINE:
                raise _Refusal("bad_request", "line of more than 256 KiB")
            line = bytes(self.incoming[:at])
            del self.incoming[: at + 1]
            self.searched = 0
            if line.strip():
                return line

    def read(self):
        """Reads available bytes and keeps a passed descriptor. False at end of file."""
        _socket = _library("_socket")
        content, ancillary, _, _ = self.sock.recvmsg(65536, _socket.CMSG_SPACE(16), _CMSG_CLOEXEC)
        for level, kind, data in ancillary:
            if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                for fd in memoryview(data[: len(data) // 4 * 4]).cast("i"):
                    self.close_fd()
                    self.fd = fd
        self.incoming += content
        return bool(content)

    def close_fd(self):
        """Closes a passed descriptor that the request did not take over."""
        fd, self.fd = self.fd, None
        if fd is not None:
            posix.close(fd)

    def close(self):
        self.sock.close()
        self.close_fd()

    def set_deadline(self):
        now = _monotonic()
        if self.outgoing:
            self.deadline = now + _WRITE_TIME
        elif self.waiting:
            self.deadline = now + 3600
        else:
            self.deadline = now + (_LINE_TIME if self.incoming else _IDLE_TIME)
