"""A server that nobody asks anything, with a thread beside it that looks now and then whether all is well."""

import queue
import threading
import time

from said import SECONDS, truth


def watch() -> None:
    while True:
        time.sleep(0.05)


requests: "queue.Queue[None]" = queue.Queue()
for _ in range(2000):
    requests.put(None)
    requests.get()
threading.Thread(target=watch, daemon=True).start()
threading.Timer(SECONDS, requests.put, [None]).start()
requests.get()
truth("no_load")
