"""memory_known.py WHAT: programs that take known memory at known lines."""

import sys
import time

held = []


def churn(times, size):
    for _ in range(times):
        bytearray(size)


def leak(size):
    held.append(bytearray(size))


def leaks():
    """16 MB over the run, in 400 steps."""
    for _ in range(400):
        leak(40_000)
        churn(5, 20_000)
        time.sleep(0.001)


def cached():
    """A cache that fills up in the first half and then gives back what it takes."""
    cache = {}
    for i in range(400):
        cache[i % 100] = bytearray(40_000)
        time.sleep(0.001)
    held.append(cache)


def loaded():
    """A model at the start, then buffers that come and go."""
    held.extend(bytearray(100_000) for _ in range(100))
    for _ in range(300):
        churn(5, 30_000)
        time.sleep(0.001)


def pooled():
    """Buffers from a pool, which is full from the beginning."""
    pool = [bytearray(60_000) for _ in range(50)]
    for i in range(300):
        pool[i % 50] = bytearray(60_000)
        time.sleep(0.001)


def strings():
    """Small objects that live for a moment."""
    for i in range(300):
        words = [str(n) * 3 for n in range(i, i + 400)]
        "".join(words)
        time.sleep(0.001)


def later():
    """Loads in the middle, and holds it."""
    for i in range(400):
        churn(2, 20_000)
        if 120 <= i < 220:
            held.append(bytearray(50_000))
        time.sleep(0.001)


def exact():
    """100 MB in a line, and 25 in another."""
    for _ in range(1000):
        bytearray(100_000)
    for _ in range(5000):
        bytearray(5_000)


def objects():
    """200,000 objects of 100 bytes: 67 and what each has around them."""
    for _ in range(200_000):
        bytes(67)


def requests():
    """50 requests: each keeps 100 kB of 400, and between them as much is taken and held."""
    import inferscope

    for _ in range(50):
        with inferscope.scope("request"):
            churn(3, 100_000)
            held.append(bytearray(100_000))
        with inferscope.scope("look"):
            churn(3, 100_000)
        held.append(bytearray(100_000))
        time.sleep(0.004)


def tensors():
    """torch: 80 MB in a line, 200 in another, and 10 that stay."""
    import torch

    for _ in range(100):
        torch.ones(200_000)
    for _ in range(10_000):
        torch.empty(5_000)
    held.append(torch.zeros(2_500_000))


def arrays():
    """numpy: 80 MB in a line, 400 in another."""
    import numpy

    for _ in range(100):
        numpy.ones(100_000)
    for _ in range(10_000):
        numpy.empty(5_000)


def numpy_leaks():
    """Arrays: 80 MB over the run, in 400 steps."""
    import numpy

    for _ in range(400):
        held.append(numpy.ones(25_000))
        numpy.ones(10_000)
        time.sleep(0.001)


def torch_leaks():
    """The same of tensors."""
    import torch

    for _ in range(400):
        held.append(torch.ones(50_000))
        torch.ones(20_000)
        time.sleep(0.001)


globals()[sys.argv[1]]()
