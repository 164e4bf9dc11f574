"""memory_work.py NAME: programs that do little but take memory; prints how long the work took."""

from __future__ import annotations

import importlib
import json
import sys
import time


def objects() -> None:
    """Small objects of Python: lists, dictionaries and strings."""
    for n in range(400):
        rows = [{"id": i, "text": f"row {i} of {n}", "tags": [i, n]} for i in range(1000)]
        rows.sort(key=lambda row: str(row["text"]))


def buffers() -> None:
    """Buffers of 4 to 200 kB, some kept for a while."""
    kept = [bytearray()] * 64
    for n in range(150_000):
        kept[n % 64] = bytearray(4096 + n * 7919 % 200_000 if n % 16 == 0 else 4096)


def arrays() -> None:
    """Arrays of numpy, small and large."""
    numpy = importlib.import_module("numpy")
    x = numpy.arange(2000.0)
    for n in range(60_000):
        y = x + n
        (y * 2).sum()
        if n % 100 == 0:
            numpy.ones((400, 400)).sum()


def text() -> None:
    """Words of a text, split, counted and joined again."""
    words = [f"word{n * n % 23}" for n in range(16)]
    for n in range(1500):
        line = " ".join(words * 40) + str(n)
        found: dict[str, int] = {}
        for word in line.split():
            found[word] = found.get(word, 0) + 1


work = globals()[sys.argv[1]]
if sys.argv[1] == "arrays":
    importlib.import_module("numpy")
begin, cpu = time.perf_counter(), time.process_time()
work()
took, used = time.perf_counter() - begin, time.process_time() - cpu
print(json.dumps({"work_ms": took * 1e3, "work_cpu_ms": used * 1e3}))
