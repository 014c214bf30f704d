#!/usr/bin/env python3
"""Values that the forecaster's equations are tested against.

Made by an implementation that shares no code with the forecaster: the discounted
regressions are numpy's least squares over all samples, weighted by exp(-age/tau).

    python3 -m venv venv && venv/bin/pip install numpy
    venv/bin/python reference.py > reference.json
"""
import json

import numpy as np

MIB = 1 << 20


def regression(t, y, tau):
    """Line and parabola through samples of discounted weight, as seen from the last one."""
    x = (t - t[-1]) / tau
    w = np.sqrt(np.exp(x))
    above = y - y[-1]
    line = np.linalg.lstsq(np.vander(x, 2, increasing=True) * w[:, None], above * w, rcond=None)[0]
    parabola = np.linalg.lstsq(np.vander(x, 3, increasing=True) * w[:, None], above * w, rcond=None)[0]
    mean = np.average(above, weights=w**2)
    rest = np.sum(w**2 * (above - line[0] - line[1] * x) ** 2)
    total = np.sum(w**2 * (above - mean) ** 2)
    return {
        "t": t.tolist(), "y": y.tolist(), "tau": tau, "mean": mean,
        "height": line[0], "slope": line[1], "explained": 1 - rest / total,
        "bend": parabola[1], "fade": -parabola[1] / (2 * parabola[2]),
    }


def main():
    random = np.random.default_rng(7)
    random.standard_normal(200)  # keeps the series below as they were
    uneven = np.round(np.cumsum(random.choice([0.5, 1.0, 1.5, 7.0], 300)), 1)
    slowing = np.round(8e9 + 30e9 * (1 - np.exp(-uneven / 400)) + 5 * MIB * random.standard_normal(300))
    print(json.dumps({
        "made_with": f"numpy {np.__version__}",
        "regressions": [regression(uneven, slowing, 60.0), regression(uneven, slowing, 300.0)],
    }, indent=1))


if __name__ == "__main__":
    main()
