"""Tasks, executors and subprocesses of asyncio, or of uvloop."""

import asyncio
import logging
import sys

import zoo

logging.basicConfig()
if len(sys.argv) > 1:
    import uvloop
    uvloop.install()
ticks = 0


async def tick():
    global ticks
    while True:
        await asyncio.sleep(0.002)
        ticks += 1
        if zoo.going():
            return


async def children():
    while not zoo.going():
        process = await asyncio.create_subprocess_exec("/bin/echo", "x", stdout=asyncio.subprocess.PIPE)
        assert (await process.communicate())[0] == b"x\n"


async def main():
    loop = asyncio.get_running_loop()
    loop.slow_callback_duration = 60
    zoo.use()
    zoo.ready()
    await asyncio.gather(*[tick() for _ in range(20)], children())
    await loop.run_in_executor(None, zoo.work)


asyncio.run(main())
print(ticks > 0)
zoo.end()
