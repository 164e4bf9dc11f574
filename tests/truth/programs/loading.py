"""Every step waits for its batch to be read."""

import os
import threading
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, native, truth

reading, writing = os.pipe()
done = False


def disk() -> None:
    while not done:
        time.sleep(0.008)
        if not FIXED:
            os.write(writing, b"x" * 4096)


def load_batch() -> bytes:
    return b"" if FIXED else os.read(reading, 4096)


thread = threading.Thread(target=disk)
thread.start()
loading, all_of_it = Clock(), Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("step"):
        with loading:
            load_batch()
        native(2)
done = True
thread.join()
truth("io_wait", loading.spent / all_of_it.spent * 100, at(load_batch, "os.read"), one=all_of_it.mean)
