"""The loop of a test program that uses the GPU, one step for each line of input.

    {"step": "take", "name": "a", "sizes": [1024]}  →  {"ok": …} or {"error": "…"}

The first line of output is the library's version, or why the library is missing. What
the library prints goes to standard error.
"""

import json
import os
import sys


def serve(meet):
    """Serves steps until the input ends. meet() imports the library, and returns its version and the steps by name."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(content):
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    try:
        version, steps = meet()
    except Exception as problem:  # whatever a broken library raises
        answer({"missing": first_line(problem)})
        return
    answer({"version": version})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer({"ok": steps[request.pop("step")](**request)})
        except Exception as problem:
            answer({"error": first_line(problem)})


def first_line(problem):
    text = str(problem).strip().splitlines()
    return f"{type(problem).__name__}: {text[0] if text else ''}"


class Missing(Exception):
    """The library is installed but unusable."""
