"""Starts an IPython kernel that runs cells."""

from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3", extra_arguments=["--HistoryManager.enabled=False"])


def run(code):
    """Runs a cell, and prints what the cell prints."""
    def hook(message):
        if message["msg_type"] == "stream":
            print(message["content"]["text"], end="")
        elif message["msg_type"] == "error":
            print(message["content"]["evalue"])
    print(client.execute_interactive(code, output_hook=hook, timeout=100)["content"]["status"], flush=True)


run("import zoo; zoo.use(); zoo.ready()")
run("import time\nwhile not zoo.going(): time.sleep(.01)\nzoo.end()")
run("print(6 * 7); 1 / 0")
run("import asyncio; await asyncio.sleep(.1); print('slept')")
client.stop_channels()
manager.shutdown_kernel()
print("ended")
