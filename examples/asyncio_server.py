"""An asyncio server.  Its fault: the model runs inside `async def`, so nothing else does while it computes.

inferscope run --report asyncio.html examples/asyncio_server.py            # slow
inferscope run --report asyncio.html examples/asyncio_server.py --fixed    # the model in a thread
"""

from __future__ import annotations

import asyncio
import hashlib
import sys

from inferscope import counter, scope

CLIENTS, EACH = 8, 40
TEXT = b"what is it waiting for? " * 4096


def model(rounds: int) -> str:
    """Stands for a forward pass: native code that lets go of the interpreter lock."""
    digest = hashlib.sha256(TEXT)
    for _ in range(rounds):
        digest.update(TEXT)
    return digest.hexdigest()


async def answer(fixed: bool, rounds: int) -> str:
    with scope("request"):
        with scope("fetch"):
            await asyncio.sleep(0.002)  # a feature store
        with scope("model"):
            return await asyncio.to_thread(model, rounds) if fixed else model(rounds)


async def client(fixed: bool, number: int) -> None:
    for i in range(EACH):
        await answer(fixed, 100 if (number + i) % 10 == 0 else 20)
        counter("answered", number * EACH + i)


async def serve(fixed: bool) -> None:
    await asyncio.gather(*(client(fixed, number) for number in range(CLIENTS)))
    print(f"{CLIENTS * EACH} requests answered")


if __name__ == "__main__":
    asyncio.run(serve("--fixed" in sys.argv[1:]))
