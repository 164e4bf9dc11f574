"""Prices insurance quotes in a process pool: every block of quotes runs through an ensemble of small nets."""
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import functools
import json
import multiprocessing as mp
import sys
import time

import numpy as np

FIXED = "--fixed" in sys.argv
T0 = time.perf_counter()
BLOCKS, ROWS, DIM, HIDDEN, MEMBERS = 560, 96, 320, 768, 4
_ensemble = None


class Ensemble:
    def __init__(self, seed=1):
        rng = np.random.default_rng(seed)
        self.w1 = [rng.standard_normal((DIM, HIDDEN), dtype=np.float32) / 18 for _ in range(MEMBERS)]
        self.w2 = [rng.standard_normal((HIDDEN, HIDDEN), dtype=np.float32) / 28 for _ in range(MEMBERS)]
        self.w3 = [rng.standard_normal((HIDDEN, 1), dtype=np.float32) / 28 for _ in range(MEMBERS)]

    def price(self, x):
        outs = [np.maximum(np.maximum(x @ a, 0) @ b, 0) @ c for a, b, c in zip(self.w1, self.w2, self.w3)]
        return np.mean(outs, axis=0)[:, 0]


def make_block(i):
    return np.random.default_rng(i).standard_normal((ROWS * 4, DIM), dtype=np.float32)


def price_block(ensemble, i):
    x = make_block(i)
    return float(ensemble.price(x).sum())


def init_worker(ensemble):
    global _ensemble
    _ensemble = ensemble


def price_block_shared(i):
    return price_block(_ensemble, i)


def run(ensemble):
    ctx = mp.get_context("spawn")
    if FIXED:
        with ctx.Pool(2, initializer=init_worker, initargs=(ensemble,)) as pool:
            return list(pool.imap_unordered(price_block_shared, range(BLOCKS)))
    task = functools.partial(price_block, ensemble)
    with ctx.Pool(2) as pool:
        return list(pool.imap_unordered(task, range(BLOCKS)))


def main():
    ensemble = Ensemble()
    t = time.perf_counter()
    prices = run(ensemble)
    serve = time.perf_counter() - t
    wall = time.perf_counter() - T0
    tm = os.times()
    print("blocks", len(prices), "premium %.1f" % sum(prices))
    print(json.dumps({
        "fault": None if FIXED else "functools.partial carries the whole ensemble: its weights are pickled, piped and unpickled with each task",
        "where": "run", "also": ["price_block", "main"], "process": "main (task handler thread) and pool workers", "thread": "Pool task handler",
        "share": None, "fixed_saves": None, "limit": "native_compute",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(tm[:4]), 3),
        "unit": "block", "units": BLOCKS, "tags": []}))


if __name__ == "__main__":
    main()
