"""Healthy: a producer keeps a queue full, the consumer computes."""

import queue
import threading
import time

from inferscope import scope
from said import SECONDS, native, truth

batches: "queue.Queue[bytes | None]" = queue.Queue(8)


def produce() -> None:
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        native(1)
        batches.put(bytes(1000))
    batches.put(None)


threading.Thread(target=produce).start()
while True:
    with scope("step"):
        batch = batches.get()
        if batch is None:
            break
        native(4)
truth(None)
