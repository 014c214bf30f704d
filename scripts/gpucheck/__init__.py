"""The implementation of scripts/gpu-check.

    nvidia-smi, vramscope once ──→ comparison ──┐
    a CUDA program of our own ──→ allocation ───┤
    vramscope probe ──┬─ its protocol ─┐        ├──→ rows: ok, differs, or – ──→ table, recording, report
                      ├─ NVML ─────────┼→ patterns, release
                      └─ vramscope once ┘

    jobs/ ── vramscope run ──┬─ the library's own stats ─┐
    (PyTorch, CuPy, JAX, C)  ├─ the probe's protocol ────┼→ sections: pytorch, training, attaching,
                             ├─ NVML ────────────────────┤  libraries, native ──→ rows, fixtures
                             └─ vramscope once, flush, … ┘

It uses the standard library only. Figures are in bytes until they are printed.
"""
