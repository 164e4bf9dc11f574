"""Servers whose slow requests are few, many or nearly half of all, in tasks, pools and nested helpers.

Other than in tails.py their calls are dense, so that the budget leaves functions out, and what is slow is only more of
what every request does.  tests/e2e/scopes/test_tail_shapes.py runs them.
"""

from __future__ import annotations

# One in fifty, in a helper of a helper whose own callee is called for every character.
NESTED = """
from inferscope import scope
def char(c, s):
    return (s * 33 + c) & 0xFFFFFF
def strip(n, s):
    for i in range(n):
        s = char(i & 7, s)
        s = (s ^ s >> 3) + (i & 15)
    return s
def prepare(n, s):
    return strip(n, s)
def score(n, s):
    for i in range(n):
        s = char(i, s) ^ i
    return s
def pick(n, s):
    for i in range(n):
        s = (s + i * i) & 0xFFFF
    return s
for number in range(500):
    with scope("request"):
        pick(20000, score(8000, prepare(30000 if number % 50 == 33 else 8000, 1)))
"""

# One in four, in a library.
NATIVE = """
import hashlib, os
from inferscope import scope
data = memoryview(os.urandom(2 << 20))
def digest(n):
    return hashlib.sha256(data[:n]).digest()
def walk(n, s):
    for i in range(n):
        s = (s * 31 + i) & 0xFFFF
    return s
def render(n, s):
    for i in range(n):
        s += walk(20, i)
    return s
for number in range(300):
    with scope("request"):
        walk(20000, 1)
        digest(2_000_000 if number % 4 == 1 else 400_000)
        render(600, 1)
"""

# Nearly half of all.
HALF = """
import random
from inferscope import scope
draw = random.Random(4)
def mix(s, i):
    return (s ^ i) * 5 & 0xFFFF
def shuffle(n):
    s = 1
    for i in range(n):
        s = mix(s, i)
def dedupe(n):
    seen = []
    for i in range(n):
        seen.append(i & 63)
        if i % 64 == 0:
            seen.clear()
def check(n):
    s = 0
    for i in range(n):
        s += i % 7
for _ in range(400):
    with scope("request"):
        shuffle(10000)
        dedupe(60000 if draw.random() < 0.45 else 15000)
        check(15000)
"""

# One in fifteen, in a task of asyncio.
TASK = """
import asyncio
from inferscope import scope
def dot(a, b):
    return a * b & 255
def rerank(n):
    s = 0
    for i in range(n):
        s += dot(i, s) + (i ^ s) % 5
def parse(n):
    s = 0
    for i in range(n):
        s += dot(s, i)
async def fetch():
    await asyncio.sleep(0.001)
async def answer(number):
    with scope("request"):
        parse(12000)
        await fetch()
        rerank(24000 if number % 15 == 7 else 6000)
async def main():
    for number in range(300):
        await asyncio.create_task(answer(number))
asyncio.run(main())
"""

# One in 25 of six clients waits longer for another service.
UPSTREAM = """
import asyncio
from inferscope import scope
def parse(n):
    s = 0
    for i in range(n):
        s += i & 3
async def call_store(slow):
    await asyncio.sleep(0.03 if slow else 0.01)
async def call_cache():
    await asyncio.sleep(0.005)
async def answer(number):
    with scope("request"):
        parse(2000)
        await call_cache()
        await call_store(number % 25 == 9)
        parse(2000)
async def client(first):
    for i in range(60):
        await answer(i * 6 + first)
async def main():
    await asyncio.gather(*(client(first) for first in range(6)))
asyncio.run(main())
"""

# One in twenty on a pool of threads, in a socket.
SOCKET = """
import socket, threading, time
from concurrent.futures import ThreadPoolExecutor
from inferscope import scope
def step(s, i):
    return s * 3 + i & 1023
def parse(n):
    s = 0
    for i in range(n):
        s = step(s, i)
mine = threading.local()
def serve(connection):
    while asked := connection.recv(1):
        time.sleep(0.012 if asked == b"s" else 0.002)
        connection.send(b"y")
def load(slow):
    if not hasattr(mine, "connection"):
        mine.connection, theirs = socket.socketpair()
        threading.Thread(target=serve, args=(theirs,), daemon=True).start()
    mine.connection.send(b"s" if slow else b"f")
    mine.connection.recv(1)
def answer(number):
    with scope("request"):
        parse(3000)
        load(number % 20 == 3)
        parse(3000)
with ThreadPoolExecutor(2) as pool:
    list(pool.map(answer, range(400)))
"""

# One in ten, in a lock that another thread holds.
LOCK = """
import threading, time
from inferscope import scope
lock, go, held = threading.Lock(), threading.Event(), threading.Event()
def step(s, i):
    return s * 3 + i & 1023
def parse(n):
    s = 0
    for i in range(n):
        s = step(s, i)
def compact():
    while True:
        go.wait()
        go.clear()
        with lock:
            held.set()
            time.sleep(0.008)
threading.Thread(target=compact, daemon=True).start()
def store():
    with lock:
        pass
for number in range(300):
    if number % 10 == 4:
        held.clear()
        go.set()
        held.wait()
    with scope("request"):
        parse(20000)
        store()
        parse(5000)
"""

# program, cause, functions that may be named: where a callee is left out, what it takes is split off by samples
SHAPES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "nested": (NESTED, "python", ("strip", "char")),
    "native": (NATIVE, "native", ("digest",)),
    "half": (HALF, "python", ("dedupe",)),
    "task": (TASK, "python", ("rerank", "dot")),
    "upstream": (UPSTREAM, "idle", ("call_store",)),
    "socket": (SOCKET, "io_wait", ("load",)),
    "lock": (LOCK, "lock_wait", ("store",)),
}

# Nearly all of their calls are left out and slow requests have a handful of samples: the report may say that it did not
# see what was slow, and nothing else that is wrong.
SPARSE = {"nested", "task"}
