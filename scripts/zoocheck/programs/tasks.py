"""The tasks of work.py. Their broker is a directory, and their results are directories."""

import os

from celery import Celery

app = Celery("tasks", broker="filesystem://")
app.conf.broker_transport_options = {"data_folder_in": "queue", "data_folder_out": "queue", "processed_folder": "processed",
                                     "control_folder": "queue", "polling_interval": 0.02}
app.conf.broker_connection_retry_on_startup = True
app.conf.worker_prefetch_multiplier = 1
app.conf.task_ignore_result = True


@app.task
def meet():
    import zoo
    zoo.meet()
    os.mkdir("done/intact" if zoo.intact() else "done/broken")


@app.task
def add(a, b):
    os.mkdir("done/%d" % (a + b))
