"""import vramscope, on a box with two GPUs and another user's process on each."""

import json
import os
import subprocess
import time
import typing
import unittest

import vramscope
from vramscope import documents

MIB = 1 << 20


def matches(value, hint):
    """Whether a value of JSON is of a type, with every key that the type has."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union:
        return any(matches(value, one) for one in arguments)
    if origin is typing.Literal:
        return value in arguments
    if origin is list:
        return isinstance(value, list) and all(matches(one, arguments[0]) for one in value)
    if origin is dict or hint is typing.Any:
        return True
    if typing.is_typeddict(hint) if hasattr(typing, "is_typeddict") else hasattr(hint, "__total__"):
        hints = typing.get_type_hints(hint, vars(documents))
        return isinstance(value, dict) and all(key in value and matches(value[key], hints[key]) for key in hints)
    return isinstance(value, (int, float) if hint is float else hint)


class API(unittest.TestCase):
    def test_documents_have_their_types(self):
        for demo in (True, False):
            document = vramscope.snapshot(demo=demo)
            self.assertEqual(document["simulated"], demo)
            self.assertTrue(matches(document, documents.OnceDocument))
            answer = vramscope.headroom(need="1GiB", demo=demo)
            self.assertTrue(matches(answer, documents.Headroom))
        self.assertFalse(matches(dict(document, host=None), documents.OnceDocument))

    def test_snapshot_of_one_gpu(self):
        (gpu,) = vramscope.snapshot(gpu="1")["gpus"]
        self.assertEqual(gpu["index"], 1)
        self.assertEqual(len(gpu["processes"]), 1)

    def test_headroom(self):
        self.assertEqual(vramscope.headroom(need=64 * MIB, count=2)["answer"], "yes")
        self.assertEqual(vramscope.headroom(need="900GiB")["answer"], "no")

    def test_errors_are_the_programs(self):
        for call, arguments in (
            (lambda: vramscope.snapshot(gpu="7"), ["once", "--gpu", "7"]),
            (lambda: vramscope.headroom("much"), ["headroom", "--need", "much"]),
        ):
            done = subprocess.run([vramscope.program()] + arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, encoding="utf-8")
            with self.assertRaises(vramscope.Error) as caught:
                call()
            self.assertEqual("vramscope: " + str(caught.exception), done.stderr.strip())
            self.assertEqual(caught.exception.code, done.returncode)
            self.assertNotEqual(done.returncode, 0)

    def test_self(self):
        self.assertEqual(vramscope.self()["devices"], [])
        import torch

        self.assertEqual(vramscope.self()["devices"], [])
        tensor = torch.empty(64 * MIB)
        kept = torch.empty(32 * MIB)
        (device,) = vramscope.self()["devices"]
        (allocator,) = device["allocators"]
        self.assertEqual((allocator["kind"], allocator["allocated_bytes"]), ("pytorch", 96 * MIB))
        del tensor
        (device,) = vramscope.self()["devices"]  # needs no waiting: the probe reads it now
        (allocator,) = device["allocators"]
        self.assertEqual((allocator["allocated_bytes"], allocator["cached_bytes"]), (32 * MIB, 64 * MIB))

        def own():
            return [p for gpu in vramscope.snapshot()["gpus"] for p in gpu["processes"] if p["pid"] == os.getpid() and p["allocated_bytes"]]

        until = time.monotonic() + 30
        while not own() and time.monotonic() < until:
            time.sleep(0.1)
        (process,) = own()
        self.assertEqual((process["allocated_bytes"], process["cached_bytes"]), (32 * MIB, 64 * MIB))
        del kept

        # A forked child has no probe, which is not the same as no memory.
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writing, json.dumps(vramscope.self()).encode())
            except vramscope.Error as error:
                os.write(writing, str(error).encode())
            os._exit(0)
        os.waitpid(child, 0)
        self.assertIn(b"forked child", os.read(reading, 4096))


if __name__ == "__main__":
    unittest.main()
