"""memory_work.py NAME [turns]: programs that do little but take memory; prints how long the work took."""

from __future__ import annotations

import importlib
import sys

import worker


def objects(size: int) -> None:
    """Small objects of Python: lists, dictionaries and strings."""
    for n in range(size):
        rows = [{"id": i, "text": f"row {i} of {n}", "tags": [i, n]} for i in range(1000)]
        rows.sort(key=lambda row: str(row["text"]))


def buffers(size: int) -> None:
    """Buffers of 4 to 200 kB, some kept for a while."""
    kept = [bytearray()] * 64
    for n in range(size):
        kept[n % 64] = bytearray(4096 + n * 7919 % 200_000 if n % 16 == 0 else 4096)


def arrays(size: int) -> None:
    """Arrays of numpy, small and large."""
    numpy = importlib.import_module("numpy")
    x = numpy.arange(2000.0)
    for n in range(size):
        y = x + n
        (y * 2).sum()
        if n % 100 == 0:
            numpy.ones((400, 400)).sum()


def text(size: int) -> None:
    """Words of a text, split, counted and joined again."""
    words = [f"word{n * n % 23}" for n in range(16)]
    for n in range(size):
        line = " ".join(words * 40) + str(n)
        found: dict[str, int] = {}
        for word in line.split():
            found[word] = found.get(word, 0) + 1


KINDS = {"objects": (objects, 400), "buffers": (buffers, 150_000), "arrays": (arrays, 60_000), "text": (text, 1500)}

if __name__ == "__main__":
    if sys.argv[1] == "arrays":
        importlib.import_module("numpy")
    worker.work_on(*KINDS[sys.argv[1]], "turns" in sys.argv)
