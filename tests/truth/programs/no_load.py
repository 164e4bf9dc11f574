"""A server that nobody asks anything."""

import queue
import threading

from said import SECONDS, truth

requests: "queue.Queue[None]" = queue.Queue()
for _ in range(2000):
    requests.put(None)
    requests.get()
threading.Timer(SECONDS, requests.put, [None]).start()
requests.get()
truth("no_load")
