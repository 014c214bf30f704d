"""AutoETS and AutoTheta (statsforecast) on traces, at a few samples of each series.

    DIR/*.csv -> the last samples before an origin -> model -> quantiles at seven horizons
              -> OUT/AutoETS/*.csv, OUT/AutoTheta/*.csv (the layout of `vramscope backtest --dump`)

A model is chosen and fitted anew at every origin, on what was seen until then, as
the library does by itself: it is far too slow to do so at every sample. Periods
are not given to it: nobody knows them. scripts/statsforecast/run does everything.
"""

import argparse
import csv
import glob
import os
import time
import warnings

import numpy as np
from statsforecast.models import AutoETS, AutoTheta

HORIZONS = (10, 30, 60, 120, 300, 600, 900)  # seconds
WINDOW = 300  # samples that a model is fitted on
YOUNG = 20  # first samples without a forecast, as in the forecaster
MIB = float(1 << 20)
TITLES = "series_id,t_seconds,horizon_seconds,median,lower80,upper80,lower95,upper95"


def read(path):
    """The series of a trace: name, seconds, bytes."""
    found = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["series_id"], []).append((float(row["t_seconds"]), float(row["used_bytes"])))
    return [(name, np.array(rows)[:, 0], np.array(rows)[:, 1]) for name, rows in found.items()]


def origins(length, count):
    """The samples from which forecasts are made: the middles of so many equal parts."""
    return np.unique(YOUNG - 1 + (np.arange(count) + 0.5) / count * (length - YOUNG)).astype(int)


def forecast(model, past, steps):
    """Quantiles (steps, 5) after the last sample: median, lower and upper 80 %, lower and upper 95 %."""
    if np.ptp(past) == 0:  # the models divide by its variance
        return np.full((len(steps), 5), past[-1])
    said = model.forecast(y=past / MIB, h=max(steps), level=[80, 95])
    columns = [np.asarray(said[name], dtype=np.float64) for name in ("mean", "lo-80", "hi-80", "lo-95", "hi-95")]
    values = np.stack(columns, axis=1)[np.array(steps) - 1] * MIB
    return np.where(np.isfinite(values), values, past[-1])


def write(file, model, name, seconds, used, count):
    """Forecasts of one series at its origins. The result is how many the model could not make."""
    step = seconds[1] - seconds[0]
    steps = [max(round(h / step), 1) for h in HORIZONS]
    failed = 0
    for i in origins(len(used), count):
        past = used[max(i + 1 - WINDOW, 0) : i + 1]
        try:
            values = forecast(model, past, steps)
        except Exception as failure:  # of any kind: libraries below it raise their own
            print(f"{name} at {seconds[i]}: {failure!r}", flush=True)
            values = np.full((len(steps), 5), past[-1])
            failed += 1
        for h, row in zip(HORIZONS, np.clip(values, 0, 2.0**60)):
            file.write(f"{name},{seconds[i]:.15g},{h},{','.join(str(round(v)) for v in row)}\n")
    return failed


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--traces", required=True)
    arguments.add_argument("--out", required=True)
    arguments.add_argument("--origins", type=int, default=12, help="of each series")
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    for label, model in (("AutoETS", AutoETS(season_length=1)), ("AutoTheta", AutoTheta(season_length=1))):
        os.makedirs(f"{given.out}/{label}", exist_ok=True)
        began, failed = time.process_time(), 0
        for path in sorted(glob.glob(given.traces + "/*.csv")):
            with open(f"{given.out}/{label}/{os.path.basename(path)}", "w", encoding="utf-8") as file:
                file.write(TITLES + "\n")
                for name, seconds, used in read(path):
                    failed += write(file, model, name, seconds, used, given.origins)
        print(f"{label}: {time.process_time() - began:.0f} s of a core, {failed} origins failed", flush=True)


main()
