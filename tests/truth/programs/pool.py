"""Ten requests at a time for a pool of two workers that wait for a backend."""

import time
from concurrent.futures import ThreadPoolExecutor

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, native, truth


def ask_backend() -> None:
    time.sleep(0.01)


waiting, all_of_it = Clock(), Clock()
with ThreadPoolExecutor(10 if FIXED else 2) as pool:
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        with all_of_it, scope("batch"):
            futures = [pool.submit(ask_backend) for _ in range(10)]
            with waiting:
                for future in futures:
                    future.result()
            native(1)
truth("pool_saturated", waiting.spent / all_of_it.spent * 100, at(ask_backend, "sleep"), one=all_of_it.mean)
