#!/usr/bin/env python3
"""Sends mutated requests to the probe.

    fuzz.py [--seed N] [--dispatcher 10000000] [--socket 1000000] [--seconds 1800]

Dispatcher: to the part of the probe that splits, reads and answers requests, in
this process. Every answer must be one line of JSON that is no internal failure.
Socket: to the living probe of a child program, with odd descriptors, incomplete
lines and connections that end. The child must write and return what it does
without a probe. At the end the probe must answer, with all those descriptors closed.
"""

import argparse
import array
import base64
import glob
import json
import os
import random
import select
import socket
import subprocess
import sys
import tempfile
import time

from harness import AGENT, HERE, Monitor, until

VECTORS = os.path.join(HERE, "..", "..", "testdata", "conformance", "*.json")
TOKENS = [
    b"\n", b"\r", b"\0", b"\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b'"', b"\\", b"\\ud800", b"\\u0000", b"\\n",
    b"{", b"}", b"[", b"]", b":", b",", b"[" * 200, b'{"a":' * 200, b"-0", b"-1", b"0.5", b"1e999", b"1" * 30, b"9007199254740993",
    b"18446744073709551616", b"NaN", b"Infinity", b"-Infinity", b"null", b"true", b"false", b'""', b"{}", b"[]", b'"id"', b'"cmd"',
    b'"proto"', b'"vramscope/1"', b'"vramscope/1.7"', b'"vramscope/2"', b'"hello"', b'"stats"', b'"flush"', b'"snapshot"', b'"bye"',
    b'"level"', b'"gradual"', b'"selective"', b'"urgent"', b'"keep_bytes"', b'"dry_run"', b'"devices"', b'"format"', b'"segments"',
    b'"pytorch"', b'"GPU-8f1c0000-0000-0000-0000-000000000000"', "\u202e\u200b\u00e9".encode(), b" " * 300, b"," * 300,
]


def seeds():
    """The requests of the conformance vectors."""
    found = []
    for path in sorted(glob.glob(VECTORS)):
        with open(path) as file:
            for case in json.load(file)["cases"]:
                for step in case["steps"]:
                    found.extend(text.encode() for text in [step.get("send", "")] + step.get("together", []))
                    found.append("".join(step.get("parts", [])).encode())
                    found.append(base64.b64decode(step.get("base64", "")))
    return [seed for seed in found if 0 < len(seed) < 4096]


def mutated(chance, every):
    line = bytearray(chance.choice(every))
    for _ in range(chance.choice((0, 1, 1, 2, 3, 8))):
        at, kind = int(chance.random() * (len(line) + 1)), chance.random()
        if kind < 0.25 and at < len(line):
            line[at] ^= 1 << int(chance.random() * 8)
        elif kind < 0.45:
            del line[at : at + int(chance.random() * 8) + 1]
        elif kind < 0.75:
            line[at:at] = chance.choice(TOKENS)
        elif kind < 0.85:
            line[at : at + int(chance.random() * 12)] = chance.choice(TOKENS)
        elif kind < 0.95:
            other = chance.choice(every)
            line[at:] = other[int(chance.random() * len(other)) :]
        else:
            line[at:at] = line[: int(chance.random() * 200)]
    return bytes(line[:8192])


class NoSocket:
    @staticmethod
    def fileno():
        return -1


def dispatcher(chance, times, end):
    """Returns how many requests were sent, and how often each kind of answer came."""
    sys.path[:0] = [AGENT, os.path.join(HERE, "fake")]
    with tempfile.TemporaryDirectory() as runtime:
        os.environ["XDG_RUNTIME_DIR"] = runtime
        import torch
        import vramscope_probe as v

        held = torch.empty(30 << 20)
        assert v._start(at_once=True) is None
        until("the probe", lambda: v._agent.serving)
        every, kinds = seeds(), {}
        connection = v._Connection(NoSocket)
        done = 0
        while done < times and (done % 1000 or time.monotonic() < end):
            done += 1
            line = mutated(chance, every) + b"\n"
            connection.incoming += line
            while True:
                try:
                    request = connection.next_line()
                except v._Refusal:
                    connection = v._Connection(NoSocket)
                    break
                if request is None:
                    break
                connection.waiting = False
                answer = v._agent.commands.answer(connection, request)
                kind = "started"
                if answer is not None:
                    encoded = v._encode(answer)
                    assert encoded.endswith(b"\n") and encoded.count(b"\n") == 1 and len(encoded) <= 256 << 10, line
                    kind = "ok" if answer["ok"] else answer["error"]["code"]
                    number = answer["id"]
                    assert number is None or type(number) is int and 0 <= number <= 1 << 53, line
                assert kind != "internal", (line, answer)
                kinds[kind] = kinds.get(kind, 0) + 1
        del held
        v._agent.stop()
    return done, kinds


CHILD = """
import sys, torch, vramscope_probe
held = [torch.empty(n << 10) for n in range(1, 60)]
def clear():
    held.append(torch.empty(1 << 20)); held.pop()
vramscope_probe.register_evictable("cache", 1, clear, lambda: 5)
for line in sys.stdin:
    print(sum(hash(n) * len(line) for n in range(1000)), len(held), flush=True)
sys.exit(3)
"""


class Child:
    def __init__(self, runtime, probe):
        # Without a probe, the module is there all the same, but cannot start a thread.
        program = CHILD if probe else "import vramscope_probe; vramscope_probe._start_new_thread = None" + CHILD
        environ = dict(os.environ, XDG_RUNTIME_DIR=runtime, PYTHONPATH=os.pathsep.join([AGENT, os.path.join(HERE, "fake")]))
        environ.pop("VRAMSCOPE_PROBE_DEBUG", None)
        self.process = subprocess.Popen([sys.executable, "-X", "dev", "-W", "error", "-c", program], env=environ,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines = []

    def work(self):
        self.process.stdin.write(b"work\n")
        self.process.stdin.flush()
        self.lines.append(self.process.stdout.readline())

    def end(self):
        out, errors = self.process.communicate()
        return b"".join(self.lines) + out, errors, self.process.returncode

    def files(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))


def descriptors(chance):
    """Unusual descriptors, to be sent with a request."""
    made = []
    for _ in range(chance.choice((1, 1, 2, 3, 30))):
        kind = chance.randrange(6)
        if kind == 0:
            made.extend(os.pipe())
        elif kind == 1:
            made.append(os.open("/", os.O_RDONLY))
        elif kind == 2:
            made.append(os.open("/dev/null", os.O_WRONLY))
        elif kind == 3:
            made.append(os.memfd_create("fuzz"))
        elif kind == 4:
            made.append(os.open("/dev/full", os.O_RDWR))
        else:
            made.append(socket.socket(socket.AF_UNIX).detach())
    return made


def send(chance, sock, content):
    """Sends as much as the probe takes, and reads its answers."""
    made = descriptors(chance) if chance.random() < 0.1 else []
    try:
        if made:
            sock.sendmsg([content[:1]], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", made))])
            content = content[1:]
        end = time.monotonic() + 5
        while content and time.monotonic() < end:
            readable, writable, _ = select.select([sock], [sock], [], 0.1)
            if readable and not sock.recv(1 << 16):
                return False
            if writable:
                content = content[sock.send(content):]
        return not content
    except OSError:
        return False
    finally:
        for fd in made:
            os.close(fd)


def over_socket(chance, times, end):
    every, sent = seeds(), 0
    with tempfile.TemporaryDirectory() as runtime:
        child, alone = Child(os.path.join(runtime), True), Child(runtime, False)
        child.work()
        path = os.path.join(runtime, "vramscope")
        path = until("the probe", lambda: [os.path.join(path, n) for n in os.listdir(path)])[0]
        Monitor(path).close()
        files = child.files()
        socks = []
        while sent < times and time.monotonic() < end:
            if len(socks) < chance.choice((1, 4, 20)):
                sock = socket.socket(socket.AF_UNIX)
                sock.connect(path)
                sock.setblocking(False)
                socks.append(sock)
            sock = chance.choice(socks)
            lines = [mutated(chance, every) for _ in range(chance.choice((1, 10, 200)))]
            sent += len(lines)
            good = send(chance, sock, b"\n".join(lines) + (b"\n" if chance.random() < 0.9 else b""))
            if not good or chance.random() < 0.05:
                socks.remove(sock)
                sock.close()
            if chance.random() < 0.01:
                child.work()
        for sock in socks:
            sock.close()

        def answers():
            monitor = Monitor(path)
            try:
                return monitor.ask("hello")["ok"] and monitor.ask("stats")["devices"]
            except (ConnectionError, KeyError, TypeError):
                return False  # the earlier connections still count against the limit
            finally:
                monitor.close()

        until("an answer", answers)
        until("all descriptors to be closed", lambda: child.files() <= files)
        for _ in child.lines:
            alone.work()
        ends, expected = child.end(), alone.end()
        assert ends == expected and ends[1:] == (b"", 3), (ends, expected)
    return sent, len(child.lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--dispatcher", type=int, default=0)
    parser.add_argument("--socket", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="end earlier, after this time each")
    options = parser.parse_args()
    print("seed", options.seed, flush=True)
    chance, began = random.Random(options.seed), time.monotonic()
    if options.socket:
        print("socket: %d requests, while the program printed %d lines," % over_socket(chance, options.socket, began + options.seconds), end=" ")
        print("%.0f s" % (time.monotonic() - began), flush=True)
    began = time.monotonic()
    if options.dispatcher:
        done, kinds = dispatcher(chance, options.dispatcher, began + options.seconds)
        print("dispatcher: %d requests, %.0f s, answers: %s"
              % (done, time.monotonic() - began, ", ".join("%s %d" % kind for kind in sorted(kinds.items()))))


if __name__ == "__main__":
    main()
