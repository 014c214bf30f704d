"""The implementation of scripts/zoo.

    cases/ ──→ Case ──┬─ by itself ───────────────┐
                      ├─ vramscope run ── flush ──┼→ Outcome: output, exit code, what is ──→ compared ──→ table
    pythons ──────────┴─ vramscope attach, flush ─┘  seen in /proc, what is left behind

A program of the zoo (programs/) allocates through the stand-in for PyTorch of the
probe's tests on the fake driver, makes a directory $ZOO_MEET/PID.N and waits for
PID.N.go; programs/zoo.py does that. Meanwhile vramscope attaches and flushes.

It uses the standard library only.
"""
