"""Starts a worker of celery, sends tasks to it, and ends it: work.py POOL."""

import os
import shutil
import signal
import subprocess
import sys
import time

import tasks

DIRECTORIES = "queue", "outgoing", "processed", "done"
pool = sys.argv[1]
for name in DIRECTORIES:
    os.mkdir(name)
command = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "-P", pool, "-c", "2", "-l", "ERROR",
           "--without-gossip", "--without-mingle", "--without-heartbeat"]
process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
# The worker may read a half-written message, so messages are moved to its queue when they are complete.
tasks.app.conf.broker_transport_options["data_folder_out"] = "outgoing"


def send(task, *arguments):
    task.delay(*arguments)
    for name in os.listdir("outgoing"):
        os.rename(os.path.join("outgoing", name), os.path.join("queue", name))


send(tasks.meet)
count, slowest = 0, 0
while not {"intact", "broken"} & set(os.listdir("done")):
    began = time.monotonic()
    send(tasks.add, count, 1)
    count += 1
    while not os.path.exists("done/%d" % count):
        assert process.poll() is None
        time.sleep(0.01)
    slowest = max(slowest, time.monotonic() - began)
print(os.path.exists("done/intact"), count > 0, "slow" if slowest > 20 else "fast")
process.send_signal(signal.SIGTERM)
print(process.wait())
for name in DIRECTORIES:
    shutil.rmtree(name)
