"""Trains an LSTM on traces and writes its forecasts, to compare the forecaster with.

    DIR/scored/*.csv, DIR/others/*.csv, a recording
        -> features, normalised by what has been seen so far -> LSTM -> quantiles at seven horizons
        -> OUT/*.forecasts.csv (the layout of `vramscope backtest --dump`), OUT/cost.json

One network is trained for series of one sample a second: on the first halves
of the traces that are scored, and on the whole of other series of the same
kinds. A second one, of the same shape, is trained on the first halves of the
recording. Both forecast the second halves, having read the first. The loss is
the pinball loss, weighted so that its sum follows the geometric mean of the
relative errors, which is the figure that the table reports.

Needs PyTorch and NumPy, no GPU. scripts/lstm/run does everything.
"""

import argparse
import csv
import glob
import gzip
import json
import os
import platform
import time

import numpy as np
import torch
from torch import nn

HORIZONS = (10, 30, 60, 120, 300, 600, 900)  # seconds
QUANTILES = (0.5, 0.1, 0.9, 0.025, 0.975)  # the median first: the others are distances from it
LAGS = (1, 2, 3, 5, 10, 20, 40, 60, 90, 120, 180, 240, 300, 420, 600, 900)  # samples
MIB = float(1 << 20)
YOUNG = 20  # first samples without a forecast, as in the forecaster
WIDTH, LAYERS = 64, 1
BATCH = 32  # series
CHUNK = 100  # samples through which an error is carried back
PATIENCE = 6  # epochs without getting better
FLOOR = 0.05  # a relative error below it is not reduced further


class Series:
    """One series: seconds and bytes, and from which second on it is scored."""

    def __init__(self, name, rows):
        rows.sort()
        self.name = name
        self.seconds = np.array([r[0] for r in rows])
        self.used = np.array([r[1] for r in rows], dtype=np.float64)
        self.middle = (self.seconds[0] + self.seconds[-1]) / 2


def read(path):
    """The series of a trace, in the order of their first rows."""
    opened = gzip.open if path.endswith(".gz") else open
    found = {}
    with opened(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["series_id"], []).append((float(row["t_seconds"]), float(row["used_bytes"])))
    return [Series(name, rows) for name, rows in found.items()]


def features(batch):
    """Inputs (series, samples, features), the scale of each sample (bytes) and which samples exist.

    Everything is known at its sample: differences from earlier samples and from
    a discounted mean, over a discounted standard deviation.
    """
    longest = max(len(s.used) for s in batch)
    used = np.zeros((len(batch), longest))
    exists = np.zeros((len(batch), longest), dtype=bool)
    for i, s in enumerate(batch):
        used[i, : len(s.used)] = s.used
        used[i, len(s.used) :] = s.used[-1]
        exists[i, : len(s.used)] = True
    keep = 0.5 ** (1 / 200)
    weight, mean, square = 0.0, np.zeros(len(batch)), np.zeros(len(batch))
    first = used[:, 0].copy()
    offset, scale = np.zeros_like(used), np.zeros_like(used)
    for t in range(longest):
        v = used[:, t] - first
        weight = keep * weight + 1
        mean += (v - mean) / weight
        square += (v * v - square) / weight
        offset[:, t] = v - mean
        scale[:, t] = MIB + np.sqrt(np.maximum(square - mean * mean, 0))
    columns = []
    for lag in LAGS:
        before = np.concatenate([np.repeat(used[:, :1], lag, axis=1), used], axis=1)[:, :longest]
        columns.append(np.clip((used - before) / scale, -10, 10))
    columns.append(np.clip(offset / scale, -10, 10))
    columns.append(np.log(scale / (64 * MIB)) / 4)
    columns.append(np.broadcast_to(np.log1p(np.arange(longest)) / 8, used.shape))
    return np.stack(columns, axis=2).astype(np.float32), scale, exists


def targets(batch, scale, whole):
    """What comes at each horizon, as change over scale; NaN where it is not to be learned from or cannot be scored.

    Also the mean naive error of each series and horizon over those targets, bytes.
    """
    out = np.full(scale.shape + (len(HORIZONS),), np.nan, dtype=np.float32)
    naive = np.full((len(batch), len(HORIZONS)), np.nan)
    for i, s in enumerate(batch):
        n = len(s.used)
        for k, h in enumerate(HORIZONS):
            to = np.searchsorted(s.seconds, s.seconds + h - 1e-6)
            good = to < n
            good[good] &= s.seconds[to[good]] - s.seconds[good] - h <= h / 2 + 1
            if not whole:
                good[good] &= s.seconds[to[good]] < s.middle
            good[:YOUNG] = False
            if good.any():
                change = s.used[to[good]] - s.used[good]
                out[i, :n][good, k] = change / scale[i, :n][good]
                naive[i, k] = np.abs(change).mean() + MIB
    return out, naive


class Network(nn.Module):
    """LSTM layers, then quantiles from the state and, straight, from the inputs."""

    def __init__(self):
        super().__init__()
        inputs = len(LAGS) + 3
        self.lstm = nn.LSTM(inputs, WIDTH, LAYERS, batch_first=True)
        self.head = nn.Linear(WIDTH + inputs, len(HORIZONS) * len(QUANTILES))
        self.register_buffer("spread", torch.sqrt(torch.tensor(HORIZONS) / 60.0)[:, None])
        self.quiet = torch.zeros(len(HORIZONS))  # a median change below it, over the scale, is none

    def forward(self, x, state=None):
        hidden, state = self.lstm(x, state)
        raw = self.head(torch.cat([hidden, x], dim=2)).unflatten(2, (len(HORIZONS), len(QUANTILES)))
        raw = raw * self.spread
        middle = raw[..., 0]
        if not self.training:
            middle = middle * (middle.abs() >= self.quiet)
        away = nn.functional.softplus(raw[..., 1:] - 1)
        below, above = middle - away[..., 0], middle + away[..., 1]
        return torch.stack([middle, below, above, below - away[..., 2], above + away[..., 3]], dim=-1), state


def pinball(said, came):
    error = came[..., None] - said
    q = torch.tensor(QUANTILES)
    return torch.maximum(q * error, (q - 1) * error)


class Batch:
    """Series of nearly one length, as tensors."""

    def __init__(self, series, whole):
        x, scale, _ = features(series)
        came, naive = targets(series, scale, whole)
        self.x, self.came, self.known = torch.from_numpy(x), torch.from_numpy(np.nan_to_num(came)), torch.from_numpy(~np.isnan(came))
        self.share = torch.from_numpy(np.nan_to_num(scale[:, :, None] / naive[:, None, :]).astype(np.float32))
        self.count = self.known.sum(dim=1).clamp(min=1)  # by series and horizon
        # Every series and horizon weighs the same, however many targets it has.
        self.even = (self.count.float().mean() / self.count).clamp(max=20)
        self.weight = self.even
        self.scored = self.known.any(dim=1)

    def epoch(self, network, optimiser):
        """One pass; the relative error of each series and horizon."""
        state, errors = None, torch.zeros_like(self.weight)
        for begin in range(0, self.x.shape[1], CHUNK):
            part = slice(begin, begin + CHUNK)
            said, state = network(self.x[:, part], state)
            state = tuple(s.detach() for s in state)
            known = self.known[:, part]
            if not known.any():
                continue
            loss = pinball(said, self.came[:, part]) * (self.share[:, part] * known)[..., None]
            errors += 2 * loss[..., 0].detach().sum(dim=1)
            if optimiser is None:
                continue
            optimiser.zero_grad()
            (loss.sum(dim=-1) * self.weight[:, None, :]).sum().div(known.sum()).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
        self.relative = relative = errors / self.count
        self.weight = self.even / (relative + FLOOR)
        return relative[self.scored]


def batches(series, size, whole):
    series = sorted(series, key=lambda s: len(s.used))
    return [Batch(series[i : i + size], whole) for i in range(0, len(series), size)]


def train(learning, checking, minutes, rate, word):
    """The network that was best on what it was not trained on, and what its training took."""
    torch.manual_seed(1)
    network = Network()
    optimiser = torch.optim.Adam(network.parameters(), lr=rate)
    order = np.random.default_rng(1)
    best, kept, stale, epochs = np.inf, None, 0, 0
    wall, cpu = time.monotonic(), time.process_time()
    while stale < PATIENCE and time.process_time() - cpu < 60 * minutes:
        network.train()
        for i in order.permutation(len(learning)):
            left = 1 - (time.process_time() - cpu) / (60 * minutes)
            for group in optimiser.param_groups:
                group["lr"] = rate * max(left, 0.02)
            learning[i].epoch(network, optimiser)
        network.eval()
        with torch.no_grad():
            relative = torch.cat([b.epoch(network, None) for b in checking])
        score = relative.clamp(min=1e-6).log().mean().exp().item()
        epochs += 1
        if score < best - 1e-4:
            best, stale = score, 0
            kept = {k: v.clone() for k, v in network.state_dict().items()}
        else:
            stale += 1
        print(f"{word}: epoch {epochs}, relative error {score:.3f} of series held back", flush=True)
    network.load_state_dict(kept)
    network.eval()
    network.quiet = quietest(network, checking)
    return network, {
        "epochs": epochs, "seconds": round(time.monotonic() - wall, 1), "cpu_seconds": round(time.process_time() - cpu, 1),
        "validation_relative_error": round(best, 4),
    }


def quietest(network, checking):
    """By horizon, the threshold below which "it stays" is the better median, chosen on what was held back.

    Much of real memory does not move at all, and a network never outputs exactly 0.
    """
    candidates = (0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
    found = []
    with torch.no_grad():
        for candidate in candidates:
            network.quiet = torch.full((len(HORIZONS),), float(candidate))
            logs, count = torch.zeros(len(HORIZONS)), torch.zeros(len(HORIZONS))
            for b in checking:
                b.epoch(network, None)
                logs += (b.relative.clamp(min=1e-6).log() * b.scored).sum(dim=0)
                count += b.scored.sum(dim=0)
            found.append(logs / count.clamp(min=1))
    best = torch.stack(found).argmin(dim=0)
    return torch.tensor(candidates)[best]


def write(network, series, path):
    """Forecasts of the second halves."""
    order = (0, 1, 2, 3, 4)  # median, lower80, upper80, lower95, upper95
    with open(path, "w", encoding="utf-8") as file:
        file.write("series_id,t_seconds,horizon_seconds,median,lower80,upper80,lower95,upper95\n")
        for i in range(0, len(series), 32):
            batch = series[i : i + 32]
            x, scale, _ = features(batch)
            with torch.no_grad():
                said = network(torch.from_numpy(x))[0].numpy().astype(np.float64)
            said = np.maximum(said * scale[:, :, None, None], -1e18)
            for s, changes in zip(batch, said):
                begin = max(int(np.searchsorted(s.seconds, s.middle)), YOUNG - 1)
                values = np.maximum(s.used[begin:, None, None] + changes[begin : len(s.used)], 0).round().astype(np.int64)
                for t, row in zip(s.seconds[begin:].tolist(), values.tolist()):
                    for h, v in zip(HORIZONS, row):
                        file.write(f"{s.name},{t:.15g},{h},{','.join(str(v[k]) for k in order)}\n")


def microseconds(network, many):
    """What a sample costs in a running monitor: one step of so many series at once, per series."""
    x = torch.randn(many, 1, len(LAGS) + 3)
    least = np.inf
    with torch.no_grad():
        _, state = network(x)
        for _ in range(20):
            began = time.perf_counter()
            for _ in range(50):
                _, state = network(x, state)
            least = min(least, (time.perf_counter() - began) / 50)
    return round(least / many * 1e6, 2)


def hold_back(series):
    """The same series, with five sixths of their first halves to learn from."""
    cut = []
    for s in series:
        half = Series(s.name, list(zip(s.seconds, s.used)))
        half.middle = s.seconds[0] + (s.middle - s.seconds[0]) * 5 / 6
        cut.append(half)
    return cut


def only_after(batch_list, series, size):
    """Of batches of first halves, the targets of what was held back alone."""
    series = sorted(series, key=lambda s: len(s.used))
    for i, b in enumerate(batch_list):
        for j, s in enumerate(series[i * size : (i + 1) * size]):
            b.known[j, : int(np.searchsorted(s.seconds, s.middle))] = False
        b.count = b.known.sum(dim=1).clamp(min=1)
        b.scored = b.known.any(dim=1)
    return batch_list


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--traces", required=True, help="has scored/*.csv and others/*.csv")
    arguments.add_argument("--recording", help="a real recording")
    arguments.add_argument("--out", required=True)
    arguments.add_argument("--minutes", type=float, default=8, help="of a core, for the traces; a fourth of it for the recording")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    os.makedirs(given.out, exist_ok=True)
    scored = {os.path.basename(p)[:-4]: read(p) for p in sorted(glob.glob(given.traces + "/scored/*.csv"))}
    others = [s for p in sorted(glob.glob(given.traces + "/others/*.csv")) for s in read(p)]
    checking = [s for i, s in enumerate(others) if i % 8 == 0]
    learning = batches([s for i, s in enumerate(others) if i % 8], BATCH, True)
    learning += batches([s for group in scored.values() for s in group], BATCH, False)
    network, cost = train(learning, batches(checking, BATCH, True), given.minutes, 3e-3, "traces")
    for name, series in scored.items():
        write(network, series, f"{given.out}/{name}.forecasts.csv")
    report = {
        "python": platform.python_version(), "torch": torch.__version__, "machine": platform.machine(), "threads": 1,
        "layers": LAYERS, "units": WIDTH, "parameters": sum(p.numel() for p in network.parameters()),
        "parameter_bytes": sum(4 * p.numel() for p in network.parameters()),
        "bytes_per_series": 2 * LAYERS * WIDTH * 4 + 8 * (max(LAGS) + 1),
        "microseconds_alone": microseconds(network, 1), "microseconds_in_64": microseconds(network, 64), "traces": cost,
    }
    if given.recording:
        series = read(given.recording)
        early = hold_back(series)
        checks = only_after(batches(series, BATCH, False), early, BATCH)
        network, report["recording"] = train(batches(early, BATCH, False), checks, given.minutes / 4, 2e-3, "recording")
        write(network, series, f"{given.out}/recording.forecasts.csv")
    with open(f"{given.out}/cost.json", "w", encoding="utf-8") as file:
        json.dump(report, file, indent=2)
        file.write("\n")


main()
