"""Healthy: a server with light load, each request short and native."""

import queue
import threading
import time

from inferscope import scope
from said import SECONDS, native, truth

requests: "queue.Queue[float | None]" = queue.Queue()


def client() -> None:
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        requests.put(time.perf_counter())
        time.sleep(0.02)
    requests.put(None)


threading.Thread(target=client).start()
while requests.get() is not None:
    with scope("request"):
        native(5)
truth(None)
