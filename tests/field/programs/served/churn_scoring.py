"""Weekly churn scores. Reads the customers' activity export (JSON lines), scores them in small batches and writes a ranking."""
import os
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import io
import json
import random
import sys
import time

import numpy as np

LOADED = time.perf_counter()
CUSTOMERS, BATCH, FEATURES = 33600, 48, 64


def export(seed=12):
    rng = random.Random(seed)
    out = io.StringIO()
    for c in range(CUSTOMERS):
        out.write(json.dumps({"customer": c, "activity": [round(rng.gauss(0, 1), 3) for _ in range(FEATURES)]}) + "\n")
    out.seek(0)
    return out


class ChurnNet:
    def __init__(self, widths=(FEATURES, 2048, 2560, 2048, 1), seed=4):
        rng = np.random.default_rng(seed)
        self.layers = [(rng.standard_normal((a, b), dtype=np.float32) / np.float32(a ** 0.5), np.zeros(b, dtype=np.float32)) for a, b in zip(widths, widths[1:])]

    def forward(self, x):
        for w, b in self.layers[:-1]:
            x = np.maximum(x @ w + b, 0)
        w, b = self.layers[-1]
        return 1 / (1 + np.exp(-(x @ w + b)))[:, 0]


class Normaliser:
    def __init__(self, dtype=None):
        self.dtype = dtype
        self.mean, self.std = np.full(FEATURES, 0.01), np.full(FEATURES, 1.02)

    def __call__(self, rows):
        x = (np.array(rows) - self.mean) / self.std
        return x.astype(self.dtype) if self.dtype else x


def batches(lines, size):
    ids, rows = [], []
    for line in lines:
        record = json.loads(line)
        ids.append(record["customer"])
        rows.append(record["activity"])
        if len(ids) == size:
            yield ids, rows
            ids, rows = [], []
    if ids:
        yield ids, rows


def score_export(lines, net, normalise):
    ranking = []
    for ids, rows in batches(lines, BATCH):
        ranking.extend(zip(net.forward(normalise(rows)).tolist(), ids))
    return sorted(ranking, reverse=True)


def main():
    fixed = "--fixed" in sys.argv
    net, normalise = ChurnNet(), Normaliser(np.float32 if fixed else None)
    lines = export()
    started = time.perf_counter()
    ranking = score_export(lines, net, normalise)
    serve = time.perf_counter() - started
    wall = time.perf_counter() - LOADED
    print(len(ranking), "customers, first", ranking[0][1], "mean", round(sum(s for s, _ in ranking) / len(ranking), 5))
    print(json.dumps({
        "fault": None if fixed else "float64 features meet float32 weights: every matmul first converts the whole weight matrix to float64 and then runs in double precision",
        "where": "ChurnNet.forward", "also": ["Normaliser.__call__", "score_export"], "process": "main", "share": None, "fixed_saves": None, "limit": "native_compute (weights are read from memory)",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(os.times()[:4]), 3), "unit": "batch", "units": CUSTOMERS // BATCH, "tags": ["operators"]}))


if __name__ == "__main__":
    main()
