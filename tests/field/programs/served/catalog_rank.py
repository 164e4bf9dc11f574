"""Offline re-ranking of the catalogue for the campaign mailer: a pool of two processes, one task per customer segment."""
import os
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import json
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

LOADED = time.perf_counter()
ITEMS, DIM, TOP = 50_000, 64, 10
SEGMENTS, CUSTOMERS = 190, 380


class CatalogRanker:
    def __init__(self, items, dim, seed=1):
        rng = np.random.default_rng(seed)
        self.vectors = rng.standard_normal((items, dim), dtype=np.float32)
        self.boost = rng.random(items, dtype=np.float32)
        self.sku = [f"SKU-{i:07d}-{'ABCDEF'[i % 6]}" for i in range(items)]

    def rank(self, customers):
        scores = customers @ self.vectors.T
        scores *= self.boost
        top = np.argpartition(scores, -TOP, axis=1)[:, -TOP:]
        ordered = np.take_along_axis(top, np.argsort(-np.take_along_axis(scores, top, 1), axis=1), 1)
        return [[self.sku[i] for i in row] for row in ordered]


_ranker = None


def attach(items, dim):
    global _ranker
    _ranker = CatalogRanker(items, dim)


def rank_segment(customers):
    return _ranker.rank(customers)


def segments(count, size, seed=2):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield rng.standard_normal((size, DIM), dtype=np.float32)


def rank_all(pool, fn):
    futures, done = [], []
    for batch in segments(SEGMENTS, CUSTOMERS):
        futures.append(pool.submit(fn, batch))
        if len(futures) >= 6:
            done.append(futures.pop(0).result())
    done.extend(f.result() for f in futures)
    return done


def main():
    fixed = "--fixed" in sys.argv
    ctx = multiprocessing.get_context("spawn")
    if fixed:
        pool, fn = ProcessPoolExecutor(2, mp_context=ctx, initializer=attach, initargs=(ITEMS, DIM)), rank_segment
    else:
        ranker = CatalogRanker(ITEMS, DIM)
        pool, fn = ProcessPoolExecutor(2, mp_context=ctx), ranker.rank
    with pool:
        list(pool.map(os.path.exists, ["/"] * 4))     # both workers are up
        started = time.perf_counter()
        lists = rank_all(pool, fn)
        serve = time.perf_counter() - started
    t = os.times()
    print(len(lists), "segments, first:", lists[0][0][:3])
    print(json.dumps({
        "fault": None if fixed else "the submitted bound method carries the ranker: the whole catalogue is pickled, piped and unpickled for each task",
        "where": "rank_all", "also": ["main", "CatalogRanker.rank", "_ExecutorManagerThread.run", "Queue._feed", "_process_worker"],
        "process": "main (pickle) and pool workers (unpickle)", "thread": "QueueFeederThread; workers: MainThread", "share": None, "fixed_saves": None, "limit": "native_compute",
        "serve_s": round(serve, 3), "wall_s": round(time.perf_counter() - LOADED, 3), "cpu_s": round(sum(t[:4]), 3),
        "unit": "segment", "units": len(lists), "tags": []}))


if __name__ == "__main__":
    main()
