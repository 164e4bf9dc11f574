"""Everything that makes stacks change under a sampler, for as many seconds as asked; prints what it did."""

from __future__ import annotations

import _ctypes
import asyncio
import contextlib
import ctypes
import functools
import gc
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

END = time.monotonic() + float(sys.argv[1])
DONE: dict[str, int] = {}


def nested(n: int) -> Iterator[int]:
    if n:
        yield from nested(n - 1)
    yield n


def deep(n: int) -> int:
    return deep(n - 1) + 1 if n else 0


def raising(n: int) -> None:
    if n == 0:
        raise ValueError
    try:
        raising(n - 1)
    finally:
        list(range(3))


class Cycle:
    def __init__(self) -> None:
        self.me = self
        self.open = nested(3)
        next(self.open)

    def __del__(self) -> None:
        deep(5)


def threads() -> None:
    some = [threading.Thread(target=lambda: (deep(100), list(nested(10)))) for _ in range(20)]
    for thread in some:
        thread.start()
    for thread in some:
        thread.join()


def generators() -> None:
    for _ in range(50):
        sum(nested(30))
        left = nested(20)
        next(left)
        del left
    exec("def f(x):\n return [y for y in x]\nf(range(100))", {})


def exceptions() -> None:
    for _ in range(50):
        with contextlib.suppress(ValueError):
            raising(40)


def cycles() -> None:
    for _ in range(300):
        Cycle()
    gc.collect()
    deep(900)


def libraries() -> None:
    for name in ("libbz2.so.1.0", "liblzma.so.5", "libz.so.1"):
        with contextlib.suppress(OSError):
            _ctypes.dlclose(ctypes.CDLL(name)._handle)


def pools() -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: zlib.compress(bytes(20000 + k)), range(40)))


def tasks() -> None:
    async def step(n: int) -> None:
        if n:
            await step(n - 1)
        await asyncio.sleep(0)

    async def all_of_them() -> None:
        await asyncio.gather(*[step(20) for _ in range(50)])

    asyncio.run(all_of_them())


def callbacks() -> None:
    call = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: deep(20))
    for _ in range(50):
        call()
    functools.reduce(lambda a, b: a + len(sorted(range(b), key=lambda x: -x)), range(30))


def matrices() -> None:
    import numpy

    a = numpy.random.rand(200, 200)
    for _ in range(10):
        a @ a
    numpy.linalg.svd(a[:60, :60])


def tensors() -> None:
    import torch

    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    layer(torch.rand(4, 16, 64)).sum().backward()


def again(work: Callable[[], None]) -> None:
    while time.monotonic() < END:
        try:
            work()
        except ImportError:
            return
        DONE[work.__name__] = DONE.get(work.__name__, 0) + 1


WORK = [threads, generators, exceptions, cycles, libraries, pools, tasks, callbacks, matrices, tensors]
running = [threading.Thread(target=again, args=(work,)) for work in WORK]
for one in running:
    one.start()
for one in running:
    one.join()
print("done", *sorted(DONE))
