"""The same with Python code that computes."""

import asyncio
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, truth

blocking = Clock()
took: "list[float]" = []


def resize() -> int:
    total = 0
    with blocking:
        for i in range(0 if FIXED else 600000):
            total += i % 5
    return total


async def handle(end: float) -> None:
    while time.perf_counter() < end:
        before = time.perf_counter()
        with scope("request"):
            await asyncio.sleep(0.005)
            resize()
        took.append(time.perf_counter() - before)


async def serve() -> float:
    began = time.perf_counter()
    await asyncio.gather(*(handle(began + SECONDS) for _ in range(3)))
    return time.perf_counter() - began


wall = asyncio.run(serve())
truth(
    "event_loop_blocked",
    blocking.spent / wall * 100,
    at(resize, "for i"),
    at(resize, "+="),
    one=sum(took) / len(took),
)
