"""Second-stage ranking for a shop: gathers the vectors of the candidates and scores them with a small two-layer net."""
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import json
import sys
import time

import numpy as np

FIXED = "--fixed" in sys.argv
T0 = time.perf_counter()
ITEMS, DIM, CANDIDATES, REQUESTS = 240_000, 192, 3000, 2300


def load_item_table(seed=4):
    """The training job exports one array per latent dimension; they arrive stacked as (DIM, ITEMS)."""
    rng = np.random.default_rng(seed)
    columns = np.empty((DIM, ITEMS), dtype=np.float32)
    for d in range(DIM):
        columns[d] = rng.standard_normal(ITEMS, dtype=np.float32)
    table = columns.T
    if FIXED:
        table = np.ascontiguousarray(table)
    return table


class Ranker:
    def __init__(self, table):
        rng = np.random.default_rng(5)
        self.table = table
        self.w1 = rng.standard_normal((DIM, 48), dtype=np.float32) / 14
        self.w2 = rng.standard_normal((48, 1), dtype=np.float32) / 16
        self.gather_s = 0.0

    def candidate_vectors(self, ids):
        t = time.perf_counter()
        v = self.table[ids]
        self.gather_s += time.perf_counter() - t
        return v

    def rank(self, user, ids, k=20):
        x = self.candidate_vectors(ids) * user
        h = np.tanh(x @ self.w1)
        s = (h @ self.w2)[:, 0]
        return ids[np.argsort(s)[::-1][:k]]


def main():
    ranker = Ranker(load_item_table())
    rng = np.random.default_rng(9)
    check = 0
    t = time.perf_counter()
    for _ in range(REQUESTS):
        user = rng.standard_normal(DIM, dtype=np.float32)
        ids = rng.integers(0, ITEMS, CANDIDATES)
        check += int(ranker.rank(user, ids)[0])
    serve = time.perf_counter() - t
    wall = time.perf_counter() - T0
    tm = os.times()
    print("requests", REQUESTS, "checksum", check, "gather %.2f s" % ranker.gather_s)
    print(json.dumps({
        "fault": None if FIXED else "the item table is a transposed view: a row gather touches one cache line for each element",
        "where": "Ranker.candidate_vectors", "also": ["candidate_vectors", "load_item_table", "Ranker.rank", "rank"], "process": "main", "thread": "main",
        "share": round(ranker.gather_s / wall, 3), "fixed_saves": None, "limit": "native_compute",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(tm[:4]), 3),
        "unit": "request", "units": REQUESTS, "tags": ["operators"]}))


if __name__ == "__main__":
    main()
