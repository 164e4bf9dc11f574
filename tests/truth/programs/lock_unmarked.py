"""Threads that a script starts and joins, without a single scope: what they wait for is not the main thread's time."""

import threading
import time

from said import FIXED, SECONDS, at, truth

lock = threading.Lock()
end = time.perf_counter() + SECONDS
waited: "list[float]" = []
spent: "list[float]" = []


def update() -> float:
    before = time.perf_counter()
    with threading.Lock() if FIXED else lock:
        took = time.perf_counter() - before
        time.sleep(0.004)
    return took


def work() -> None:
    while time.perf_counter() < end:
        before = time.perf_counter()
        waited.append(update())
        spent.append(time.perf_counter() - before)


threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
truth(
    "lock_contention",
    sum(waited) / sum(spent) * 100,
    at(update, "sleep"),
    at(update, "with "),
    one=sum(spent) / len(spent),
)
