"""Workers take turns at one lock around a slow call: three of four always wait."""

import threading
import time

from inferscope import scope
from said import FIXED, SECONDS, at, truth

lock = threading.Lock()
end = time.perf_counter() + SECONDS
waited: "list[float]" = []
spent: "list[float]" = []


def predict() -> float:
    before = time.perf_counter()
    with threading.Lock() if FIXED else lock:
        took = time.perf_counter() - before
        time.sleep(0.004)
    return took


def work() -> None:
    while time.perf_counter() < end:
        before = time.perf_counter()
        with scope("request"):
            took = predict()
        waited.append(took)
        spent.append(time.perf_counter() - before)


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
truth(
    "lock_contention",
    sum(waited) / sum(spent) * 100,
    at(predict, "sleep"),
    at(predict, "with "),
    one=sum(spent) / len(spent),
)
