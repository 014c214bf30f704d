"""Starts a server, sends requests until the runner is done, and ends the server: serve.py gunicorn|uvicorn KIND."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect("socket")


def ask(path):
    connection = Connection("localhost")
    connection.request("GET", path)
    answer = connection.getresponse().read().decode()
    connection.close()
    return answer


server, kind = sys.argv[1:]
command = [sys.executable, "-m", server]
if server == "gunicorn":
    command += ["-k", kind, "-w", "1", "-b", "unix:socket", "--no-control-socket" if "--no-control-socket" in subprocess.run(
        command + ["--help"], stdout=subprocess.PIPE).stdout.decode() else "--preload", "served:wsgi"]
    if kind == "gthread":
        command += ["--threads", "4"]
else:
    command += ["--loop", kind, "--uds", "socket", "--log-level", "warning", "served:asgi"]
process = subprocess.Popen(command)
until = time.monotonic() + 60
while True:
    try:
        print(ask("/"), flush=True)
        break
    except (ConnectionRefusedError, FileNotFoundError):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.05)
print(ask("/ready"))
slowest = 0
while ask("/going") == "waits":
    began = time.monotonic()
    assert ask("/work") == "worked"
    slowest = max(slowest, time.monotonic() - began)
print(ask("/end"), "slow" if slowest > 20 else "fast")
process.send_signal(signal.SIGTERM)
print(process.wait(), os.path.exists("socket"))
