"""Quote ranking for the trading desk: eight handler threads share one table of market features.

The table is derived from the last tick file and is good for a number of uses before it has to be derived again."""
import os
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import json
import queue
import sys
import threading
import time

import numpy as np

LOADED = time.perf_counter()
QUOTES, THREADS, GOOD_FOR = 2600, 8, 160
SYMBOLS, TICKS, WIDTH = 40, 5000, 96


def tick_file(seed=9):
    rng = np.random.default_rng(seed)
    prices = 100 + rng.standard_normal((SYMBOLS, TICKS)).cumsum(axis=1)
    return "\n".join(f"{s};{','.join(f'{p:.4f}' for p in row)}" for s, row in enumerate(prices))


class MarketTable:
    """Rolling features per symbol, kept until `good_for` handlers have read them."""

    def __init__(self, source, good_for):
        self.source, self.good_for = source, good_for
        self.table, self.uses, self.derived = None, good_for, 0
        self.derive_cpu = 0.0
        self.lock = threading.Lock()

    def current(self):
        with self.lock:
            if self.uses < self.good_for:
                self.uses += 1
                return self.table
        table = self.derive()
        with self.lock:
            self.table, self.uses = table, 1
            return table

    def derive(self):
        t = time.thread_time()
        rows = []
        for line in self.source.split("\n"):
            _, ticks = line.split(";")
            prices = [float(p) for p in ticks.split(",")]
            fast = slow = prices[0]
            up = down = 0.0
            features = []
            for before, p in zip(prices, prices[1:]):
                fast += (p - fast) * 0.2
                slow += (p - slow) * 0.05
                up = up * 0.95 + max(p - before, 0.0)
                down = down * 0.95 + max(before - p, 0.0)
                features.append(fast - slow + up - down)
            rows.append(features[-WIDTH:])
        table = np.array(rows, dtype=np.float32)
        with self.lock:
            self.derived += 1
            self.derive_cpu += time.thread_time() - t
        return table


class SingleMarketTable(MarketTable):
    def __init__(self, source, good_for):
        super().__init__(source, good_for)
        self.refresh = threading.Lock()

    def current(self):
        with self.refresh:
            return super().current()


class Ranker:
    def __init__(self, table, seed=1):
        rng = np.random.default_rng(seed)
        self.table = table
        self.w = [rng.standard_normal((WIDTH, 640), dtype=np.float32) / 10] + [rng.standard_normal((640, 640), dtype=np.float32) / 25 for _ in range(5)]
        self.out = rng.standard_normal(640).astype(np.float32)

    def rank(self, quote):
        h = np.repeat(self.table.current(), 3, axis=0) * (1 + quote % 13 / 13)
        for w in self.w:
            h = np.maximum(h @ w, 0)
        return int((h @ self.out).argmax())


def handle(ranker, inbox, outbox):
    while (quote := inbox.get()) is not None:
        outbox.append((quote, ranker.rank(quote)))


def main():
    fixed = "--fixed" in sys.argv
    table = (SingleMarketTable if fixed else MarketTable)(tick_file(), GOOD_FOR)
    ranker = Ranker(table)
    inbox, outbox = queue.Queue(64), []
    handlers = [threading.Thread(target=handle, args=(ranker, inbox, outbox), name=f"handler-{i}") for i in range(THREADS)]
    started = time.perf_counter()
    for h in handlers:
        h.start()
    for quote in range(QUOTES):
        inbox.put(quote)
    for _ in handlers:
        inbox.put(None)
    for h in handlers:
        h.join()
    serve = time.perf_counter() - started
    wall = time.perf_counter() - LOADED
    needed = -(-QUOTES // GOOD_FOR)
    extra = table.derive_cpu * max(0, table.derived - needed) / table.derived
    print(len(outbox), "quotes ranked, table derived", table.derived, "times")
    print(json.dumps({
        "fault": None if fixed else "when the shared table expires every handler thread derives it anew at the same time (stampede)",
        "where": "MarketTable.current", "also": ["MarketTable.derive", "Ranker.rank"], "process": "main", "thread": "handler-0 .. handler-7",
        "share": round(extra / wall, 3), "fixed_saves": None, "limit": "native_compute",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(os.times()[:4]), 3), "unit": "quote", "units": len(outbox), "tags": []}))


if __name__ == "__main__":
    main()
