"""Programs of the kinds that are profiled, for bench_budget.py: budget_work.py NAME [PACKAGE] [loaded] [turns].

Each sets itself up, works for about half a second and prints how long that took, as one line of JSON.  With `turns`
it works a short while whenever it reads a line (turns.py).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import importlib
import importlib.util
import io
import json
import multiprocessing
import os
import re
import site
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import worker
from worker import Work

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


def calls() -> Work:
    """Next to nothing but calls: about ten million a second."""

    def work(n: int) -> None:
        for _ in range(n):
            grow(11).total(0)
            ackermann(2, 60)

    return work


def decoder() -> Work:
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

    def work(n: int) -> None:
        word = 1
        for i in range(n):
            word = token(word, i % context)

    return work


def arrays() -> Work:
    """Large arrays, a dozen calls a second."""
    np = importlib.import_module("numpy")

    a = np.random.default_rng(0).standard_normal((900, 900), dtype=np.float32)

    def work(n: int) -> None:
        b = a
        for _ in range(n):
            b = np.tanh(a @ b / 30)

    return work


def threads() -> Work:
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

    def serve(n: int) -> None:
        for _ in range(n):
            tokenize(text)

    crowd = concurrent.futures.ThreadPoolExecutor(4)

    def work(n: int) -> None:
        for _ in crowd.map(serve, [n] * 4):
            pass

    return work


def requests() -> Work:
    """Requests that an event loop serves, eight at a time: parse, wait for the other side, answer."""
    question = json.dumps({"ids": list(range(40)), "text": "a request of ordinary length " * 4})

    def parse(body: str) -> list[str]:
        asked = json.loads(body)
        return [f"{number}:{word}" for number, word in zip(asked["ids"], asked["text"].split())]

    async def answer(body: str) -> str:
        words = parse(body)
        await asyncio.sleep(0)
        return json.dumps({"words": words, "count": len(words)})

    async def client(n: int) -> None:
        for _ in range(n):
            await answer(question)

    async def all_of_them(n: int) -> None:
        await asyncio.gather(*(client(n) for _ in range(8)))

    return lambda n: asyncio.run(all_of_them(n))


def squares(n: int) -> int:
    return sum(i * i % 7 for i in range(n))


def workers() -> Work:
    """Two processes that get small jobs and send results back."""
    pool = concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("fork"))

    def work(n: int) -> None:
        for _ in pool.map(squares, [2500] * n, chunksize=4):
            pass

    return work


def text() -> Work:
    """Expressions, JSON and sorting: much of it inside the interpreter's own C code."""
    lines = [
        f"{i % 255}.0.0.{i % 99} GET /model/{i * 7919 % 1000} {i * 31 % 600} {i % 13}.{i % 97} ms" for i in range(400)
    ]
    fields = re.compile(r"(\S+) (\w+) /(\w+)/(\d+) (\d+) ([\d.]+) ms")

    def work(n: int) -> None:
        for _ in range(n):
            found = [match.groups() for match in map(fields.match, lines) if match]
            found.sort(key=lambda row: (row[3], float(row[5])))
            json.loads(json.dumps(found))

    return work


def tokens() -> Work:
    """The same kind of decoder as modules of PyTorch: most of a token is Python and the way to small operators."""
    return torch_decoder(width=256)


def near() -> Work:
    """The same with small weights.

    What 15 MB of them take depends on who else uses the last cache of the machine.  After each layer of this one
    3 MB are read that stay in it, so that the nearer caches are as cold.
    """
    np = importlib.import_module("numpy")
    return torch_decoder(width=32, after_layer=np.ones(3 << 17).sum)


def torch_decoder(width: int, after_layer: Callable[[], object] = lambda: None) -> Work:
    torch = importlib.import_module("torch")
    nn = torch.nn
    heads, layers, context = 4, 4, 128
    torch.manual_seed(0)

    class Layer(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def attend(self, x: Any, seen: list[Any]) -> Any:
            parts = self.qkv(x).view(1, 1, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            seen[:] = [torch.cat((old, new), 2) for old, new in zip(seen, parts[1:])] if seen else parts[1:].unbind()
            mixed = nn.functional.scaled_dot_product_attention(parts[0], *seen)
            return self.out(mixed.transpose(1, 2).reshape(1, 1, width))

        def forward(self, x: Any, seen: list[Any]) -> Any:
            x = x + self.attend(self.before(x), seen)
            return x + self.feed(self.between(x))

    words, stack, head = nn.Embedding(2000, width), [Layer() for _ in range(layers)], nn.Linear(width, 2000)

    def work(n: int) -> None:
        word = torch.zeros(1, 1, dtype=torch.long)
        seen: list[list[Any]] = []
        with torch.inference_mode():
            for i in range(n):
                if i % context == 0:
                    seen = [[] for _ in stack]
                x = words(word)
                for layer, its in zip(stack, seen):
                    x = layer(x, its)
                    after_layer()
                word = head(x).argmax(-1)

    return work


def minilm() -> Work:
    """examples/minilm.py, from the first request on."""
    path = Path(__file__).resolve().parent.parent / "examples" / "minilm.py"
    spec = importlib.util.spec_from_file_location("minilm", path)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    with contextlib.redirect_stdout(io.StringIO()):
        embedder = example.Embedder(example.prepare())
        index = embedder.encode(example.PASSAGES)

    def work(n: int) -> None:
        for i in range(n):
            example.answer(embedder, index, example.QUESTIONS[i % len(example.QUESTIONS)])

    return work


KINDS = {"calls": (calls, 240), "decoder": (decoder, 600), "arrays": (arrays, 50), "threads": (threads, 2500)}
KINDS |= {
    "tokens": (tokens, 280),
    "near": (near, 600),
    "minilm": (minilm, 80),
    "requests": (requests, 4500),
    "workers": (workers, 4000),
    "text": (text, 600),
}


def load(folder: str) -> None:
    """All of us that a program has in it when nothing records: the start file, the package, a profiler that stopped."""
    site.addsitedir(folder)
    from inferscope import CPUProfiler

    profiler = CPUProfiler()
    profiler.start()
    profiler.stop()


def main() -> None:
    name, *others = sys.argv[1:]
    make, size = KINDS[name]
    folder = next((word for word in others if word not in ("turns", "loaded")), "")
    sys.path.append(folder)
    if "loaded" in others:
        load(folder)
    worker.work_on(make(), size, "turns" in others)


if __name__ == "__main__":
    main()
