"""Changes its job half-way: first it works off tasks of asyncio, then a list."""

import asyncio

from told import REQUEST, heavy, spin, tell

heavy(0.2)
tell("imported")


async def fetch(i: int) -> None:
    spin(REQUEST)
    await asyncio.sleep(0)
    spin(REQUEST)


async def gather() -> None:
    for _ in range(10):
        await asyncio.gather(*[asyncio.create_task(fetch(n)) for n in range(2)])


def score(i: int) -> None:
    spin(REQUEST)


def rank() -> None:
    for i in range(80):
        score(i)


tell("gathered_from")
asyncio.run(gather())
tell("gathered_to")
tell("served_from")
rank()
tell("served_to")
tell("left")
