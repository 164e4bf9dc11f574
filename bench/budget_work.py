"""Programs of the kinds that are profiled, for bench_budget.py: budget_work.py NAME [FOLDER OF THE PACKAGE].

Each sets itself up, works for about half a second and prints how long that took, as one line of JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Array = Any  # of numpy, which may not be here

for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")


class Leaf:
    def __init__(self, value: int) -> None:
        self.value = value

    def total(self, depth: int) -> int:
        return self.weigh(depth)

    def weigh(self, depth: int) -> int:
        return self.value * depth


class Branch:
    def __init__(self, left: Leaf | Branch, right: Leaf | Branch) -> None:
        self.left = left
        self.right = right

    def total(self, depth: int) -> int:
        return self.left.total(depth + 1) + self.right.total(depth + 1)


def grow(depth: int) -> Leaf | Branch:
    return Leaf(depth) if depth == 0 else Branch(grow(depth - 1), grow(depth - 1))


def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


def calls() -> Callable[[], object]:
    """Next to nothing but calls: about ten million a second."""

    def work() -> None:
        for _ in range(240):
            grow(11).total(0)
            ackermann(2, 60)

    return work


def decoder() -> Callable[[], object]:
    """A small decoder that makes tokens one by one, with a cache of keys and values."""
    np = importlib.import_module("numpy")

    width, layers, context = 256, 4, 128
    draw = np.random.default_rng(0)

    def weights(rows: int, columns: int) -> Array:
        return draw.standard_normal((rows, columns), dtype=np.float32) / np.float32(rows**0.5)

    def norm(x: Array) -> Array:
        return (x - x.mean()) / (x.std() + 1e-5)

    def softmax(x: Array) -> Array:
        e = np.exp(x - x.max())
        return e / e.sum()

    class Layer:
        def __init__(self) -> None:
            self.qkv, self.out = weights(width, 3 * width), weights(width, width)
            self.up, self.down = weights(width, 4 * width), weights(4 * width, width)
            self.keys = np.zeros((context, width), np.float32)
            self.values = np.zeros((context, width), np.float32)

        def attend(self, x: Array, at: int) -> Array:
            q, self.keys[at], self.values[at] = np.split(x @ self.qkv, 3)
            return softmax(self.keys[: at + 1] @ q / width**0.5) @ self.values[: at + 1] @ self.out

        def forward(self, x: Array, at: int) -> Array:
            x = x + self.attend(norm(x), at)
            return x + np.maximum(norm(x) @ self.up, 0) @ self.down

    stack, words = [Layer() for _ in range(layers)], weights(2000, width)

    def token(word: int, at: int) -> int:
        x = words[word]
        for layer in stack:
            x = layer.forward(x, at)
        return int((words @ norm(x)).argmax())

    def work() -> None:
        word = 1
        for i in range(600):
            word = token(word, i % context)

    return work


def arrays() -> Callable[[], object]:
    """Large arrays, a dozen calls a second."""
    np = importlib.import_module("numpy")

    a = np.random.default_rng(0).standard_normal((900, 900), dtype=np.float32)

    def work() -> None:
        b = a
        for _ in range(50):
            b = np.tanh(a @ b / 30)

    return work


def threads() -> Callable[[], object]:
    """Four threads that all want the interpreter."""
    text = "a thread that waits for the interpreter lock is ready to run and does not get to " * 4

    def pieces(word: str) -> list[str]:
        return [word[i : i + 3] for i in range(0, len(word), 3)]

    def tokenize(line: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for word in line.split():
            for piece in pieces(word):
                found[piece] = found.get(piece, 0) + 1
        return found

    def serve() -> None:
        for _ in range(2500):
            tokenize(text)

    def work() -> None:
        crowd = [threading.Thread(target=serve) for _ in range(4)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()

    return work


def minilm() -> Callable[[], object]:
    """examples/minilm.py, from the first request on."""
    path = Path(__file__).resolve().parent.parent / "examples" / "minilm.py"
    spec = importlib.util.spec_from_file_location("minilm", path)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    with contextlib.redirect_stdout(io.StringIO()):
        embedder = example.Embedder(example.prepare())
        index = embedder.encode(example.PASSAGES)

    def work() -> None:
        for i in range(80):
            example.answer(embedder, index, example.QUESTIONS[i % len(example.QUESTIONS)])

    return work


def main() -> None:
    kinds = {"calls": calls, "decoder": decoder, "arrays": arrays, "threads": threads, "minilm": minilm}
    sys.path += sys.argv[2:]
    work = kinds[sys.argv[1]]()
    begin, cpu = time.monotonic_ns(), time.process_time_ns()
    work()
    took, cpu = time.monotonic_ns() - begin, time.process_time_ns() - cpu
    print(json.dumps({"work_ms": took / 1e6, "work_cpu_ms": cpu / 1e6}))


if __name__ == "__main__":
    main()
