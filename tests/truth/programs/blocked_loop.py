"""A coroutine calls something that blocks: every other request of the loop waits."""

import asyncio
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, truth

blocking = Clock()
took: "list[float]" = []


def render() -> None:
    with blocking:
        time.sleep(0 if FIXED else 0.03)


async def handle(end: float) -> None:
    while time.perf_counter() < end:
        before = time.perf_counter()
        with scope("request"):
            render()
            await asyncio.sleep(0.002)
        took.append(time.perf_counter() - before)


async def serve() -> float:
    began = time.perf_counter()
    await asyncio.gather(*(handle(began + SECONDS) for _ in range(3)))
    return time.perf_counter() - began


wall = asyncio.run(serve())
truth("event_loop_blocked", blocking.spent / wall * 100, at(render, "time.sleep"), one=sum(took) / len(took))
