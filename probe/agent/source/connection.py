class _Connection:
    """One monitor's connection. Its requests are answered in their order."""

    def __init__(self, sock):
        self.sock = sock
        self.incoming = bytearray()
        self.seen = 0  # up to here there is no newline
        self.outgoing = b""
        self.lent = None  # a descriptor that came with the present request
        self.waiting = False  # for a flush or a snapshot
        self.last = False  # nothing is read after what is to be written
        self.deadline = _monotonic() + _IDLE_TIME

    def next_line(self):
        """The next line that is not empty, or None. A line that is too long is a _Refusal."""
        while True:
            at = self.incoming.find(b"\n", self.seen)
            if at < 0:
                self.seen = len(self.incoming)
                if self.seen >= _MAX_LINE:
                    raise _Refusal("bad_request", "line of more than 256 KiB")
                return None
            if at >= _MAX_LINE:
                raise _Refusal("bad_request", "line of more than 256 KiB")
            line = bytes(self.incoming[:at])
            del self.incoming[: at + 1]
            self.seen = 0
            if line.strip():
                return line

    def read(self):
        """Reads what there is, and keeps a descriptor that came along. False at the end."""
        import socket
        import struct

        content, ancillary, _, _ = self.sock.recvmsg(65536, socket.CMSG_SPACE(16), _CMSG_CLOEXEC)
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                for (fd,) in struct.iter_unpack("i", data[: len(data) // 4 * 4]):
                    self.drop_lent()
                    self.lent = fd
        self.incoming += content
        return bool(content)

    def drop_lent(self):
        """Closes a descriptor that has been used, or that nobody asked for."""
        fd, self.lent = self.lent, None
        if fd is not None:
            os.close(fd)

    def close(self):
        self.sock.close()
        self.drop_lent()

    def expect(self):
        """Sets how long the monitor is waited for."""
        now = _monotonic()
        if self.outgoing:
            self.deadline = now + _WRITE_TIME
        elif self.waiting:
            self.deadline = now + 3600
        else:
            self.deadline = now + (_LINE_TIME if self.incoming else _IDLE_TIME)
