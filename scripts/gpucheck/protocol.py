"""A client of the probe's protocol, written only from docs/protocol.md."""

import glob
import json
import os
import socket
import struct
import time

from gpucheck.programs import CannotCheck

SOCKET_SECONDS = 10      # until a probe process has opened its socket
ANSWER_SECONDS = 12      # a flush may take ten


class Stats:
    """The sums over a process's allocators on one device, in bytes. A sum other than pools is None if one allocator's part is unknown."""

    def __init__(self, answer, uuid):
        self.time_ns = answer["time_ns"]
        devices = [device for device in answer["devices"] if device["uuid"] == uuid]
        if len(devices) != 1:
            raise CannotCheck(f"the probe names {uuid} {len(devices)} times")
        self.allocators = devices[0]["allocators"]
        for part in ("reserved", "allocated", "cached", "fragmented", "returnable"):
            setattr(self, part, self.total(part + "_bytes"))
        pools = [allocator["reserved_bytes"] for allocator in self.allocators if allocator["kind"] == "cuda_pool"]
        self.pools = sum(pools)

    def total(self, key):
        values = [allocator.get(key) for allocator in self.allocators]
        return None if None in values else sum(values)


class Probe:
    """A connection to the probe in a process."""

    def __init__(self, pid, uuid, seconds=SOCKET_SECONDS):
        self.pid, self.uuid, self.number, self.unread = pid, uuid, 0, b""
        self.connection = self.connect(seconds)
        self.hello = self.ask("hello", proto="vramscope/1")
        if self.hello["pid"] != pid or not self.hello["proto"].startswith("vramscope/1"):
            raise CannotCheck(f"the probe of {pid} answers as {self.hello['pid']} with {self.hello['proto']}")

    def connect(self, seconds):
        deadline = time.monotonic() + seconds
        directory = os.path.join(os.environ["XDG_RUNTIME_DIR"], "vramscope")
        while True:
            for path in glob.glob(os.path.join(directory, f"{self.pid}-*.sock")):
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                connection.settimeout(ANSWER_SECONDS)
                try:
                    connection.connect(path)
                    peer, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                except OSError:
                    connection.close()
                    continue
                if peer != self.pid:
                    connection.close()
                    raise CannotCheck(f"the socket of {self.pid} belongs to {peer}")
                return connection
            if time.monotonic() > deadline:
                raise CannotCheck(f"no socket of {self.pid} in {directory} after {seconds} s")
            time.sleep(0.01)

    def ask(self, command, **fields):
        self.number += 1
        request = {"id": self.number, "cmd": command, **fields}
        try:
            self.connection.sendall(json.dumps(request).encode() + b"\n")
            while b"\n" not in self.unread:
                read = self.connection.recv(1 << 16)
                if not read:
                    raise CannotCheck(f"the probe disconnected instead of answering {command}")
                self.unread += read
        except OSError as problem:
            raise CannotCheck(f"{command}: {problem}") from problem
        line, _, self.unread = self.unread.partition(b"\n")
        answer = json.loads(line)
        if answer.get("id") != self.number:
            raise CannotCheck(f"{command}: request {self.number} is answered as {answer.get('id')}")
        if not answer["ok"]:
            raise CannotCheck(f"{command}: {answer['error']['code']}: {answer['error']['message']}")
        return answer

    def stats(self):
        return Stats(self.ask("stats"), self.uuid)

    def flush(self, level):
        """Flushes. Returns the answer, and the times of the request and of the answer."""
        asked = time.monotonic()
        answer = self.ask("flush", level=level)
        device, = (device for device in answer["devices"] if device["uuid"] == self.uuid)
        return {**device, "level": level, "ms": answer["ms"], "notes": answer.get("notes", [])}, asked, time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()
