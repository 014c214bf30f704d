"""What scripts/gpu-check is made of.

    nvidia-smi, vramscope once ──→ comparison ──┐
    a CUDA program of our own ──→ allocation ───┤
    vramscope probe ──┬─ its protocol ─┐        ├──→ rows: ok, differs, or – ──→ table, recording, report
                      ├─ NVML ─────────┼→ patterns, release
                      └─ vramscope once ┘

Only what Python brings along is used. Figures are bytes until they are shown.
"""
