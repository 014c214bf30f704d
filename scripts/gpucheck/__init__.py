"""What scripts/gpu-check is made of.

    nvidia-smi, vramscope once ──→ comparison ──┐
    a CUDA program of our own ──→ allocation ───┤
    vramscope probe ──┬─ its protocol ─┐        ├──→ rows: ok, differs, or – ──→ table, recording, report
                      ├─ NVML ─────────┼→ patterns, release
                      └─ vramscope once ┘

    jobs/ ── vramscope run ──┬─ the library's own books ─┐
    (PyTorch, CuPy, JAX, C)  ├─ the probe's protocol ────┼→ sections: pytorch, training, attaching,
                             ├─ NVML ────────────────────┤  libraries, native ──→ rows, fixtures
                             └─ vramscope once, flush, … ┘

Only what Python brings along is used. Figures are bytes until they are shown.
"""
