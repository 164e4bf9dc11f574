"""A server that is ready long before the first request comes."""

import asyncio

from told import REQUEST, heavy, spin, tell

heavy(0.25)
tell("imported")


async def request(i: int) -> None:
    spin(REQUEST)
    await asyncio.sleep(0.001)
    spin(REQUEST)


async def main() -> None:
    spin(0.25)
    tell("ready")
    await asyncio.sleep(0.5)
    tell("served_from")
    for i in range(30):
        await asyncio.create_task(request(i))
    tell("served_to")


asyncio.run(main())
tell("left")
