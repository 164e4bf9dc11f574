"""Healthy: an asyncio server that awaits its backend, and does little itself."""

import asyncio
import time

from inferscope import scope
from said import SECONDS, native, truth


async def handle(end: float) -> None:
    while time.perf_counter() < end:
        with scope("request"):
            await asyncio.sleep(0.03)
            native(1)
        await asyncio.sleep(0.01)


async def serve() -> None:
    end = time.perf_counter() + SECONDS
    await asyncio.gather(*(handle(end) for _ in range(4)))


asyncio.run(serve())
truth(None)
