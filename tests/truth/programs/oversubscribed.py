"""Far more threads compute than there are CPUs."""

import os
import threading
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, native, queued, truth

done = False


def compute() -> None:
    while not done:
        native(5)


threads = [threading.Thread(target=compute) for _ in range(0 if FIXED else 4 * len(os.sched_getaffinity(0)))]
for thread in threads:
    thread.start()
all_of_it, behind = Clock(), queued()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        native(5)
late = queued() - behind
done = True
for thread in threads:
    thread.join()
truth("oversubscription", late / all_of_it.spent * 100, one=all_of_it.mean)
