"""Its memory comes to 97% of the limit of its control group: what stands for the kernel says so."""

# stand-in: memory
import time

from inferscope import scope
from said import FIXED, SECONDS, native, truth
from said_memory import write

kib = 300_000 if FIXED else 1_017_000
write("status", f"VmHWM:\t  {kib} kB\nVmRSS:\t  {kib} kB\nVmSwap:\t  0 kB\n")
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with scope("request"):
        native(20)
truth("memory_near_limit")
