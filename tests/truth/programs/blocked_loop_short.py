"""Coroutines compute for 3 ms each time: no step is long, yet every request waits for those of the others."""

import asyncio
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, truth

WAITERS = 8
took: "list[float]" = []
wanted = Clock()  # from when a request can go on, to when it does


def encode() -> int:
    total = 0
    end = time.perf_counter() + (0 if FIXED else 0.003)
    while time.perf_counter() < end:
        total += sum(range(200))
    return total


async def handle(end: float) -> None:
    while time.perf_counter() < end:
        before = time.perf_counter()
        with scope("request"):
            await asyncio.sleep(0.004)
            wanted.spent += max(time.perf_counter() - before - 0.004, 0)
            encode()
        took.append(time.perf_counter() - before)


async def serve() -> None:
    end = time.perf_counter() + SECONDS
    await asyncio.gather(*(handle(end) for _ in range(WAITERS)))


asyncio.run(serve())
# Nobody outside knows when the sleep was to end: others compute in that time too.
slept = 0.004 * len(took)
truth(
    "event_loop_blocked",
    [wanted.spent / sum(took) * 100, (wanted.spent + slept) / sum(took) * 100],
    at(encode, "while"),
    at(encode, "+="),
    one=sum(took) / len(took),
)
