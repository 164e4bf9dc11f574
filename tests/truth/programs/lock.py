"""A thread holds the lock that every request needs while it writes to a slow place."""

import threading
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, native, truth

lock = threading.Lock()
done = False


def flush() -> None:
    with lock:
        time.sleep(0.012)


def flusher() -> None:
    while not done:
        if FIXED:
            time.sleep(0.012)
        else:
            flush()
        time.sleep(0.001)


def update() -> None:
    with waiting:
        lock.acquire()
    lock.release()


waiting, all_of_it = Clock(), Clock()
thread = threading.Thread(target=flusher, name="flusher")
thread.start()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        update()
        native(3)
done = True
thread.join()
truth(
    "lock_contention",
    waiting.spent / all_of_it.spent * 100,
    at(update, "acquire"),
    at(flush, "with lock"),
    at(flush, "sleep"),
    one=all_of_it.mean,
)
