"""Tasks of the control group wait for memory for 40% of the time: what stands for the kernel says so."""

# stand-in: memory
import time

from inferscope import scope
from said import FIXED, SECONDS, native, truth
from said_memory import write

began = time.perf_counter()
end = began + SECONDS
while time.perf_counter() < end:
    with scope("request"):
        native(20)
    stalled = 0 if FIXED else int((time.perf_counter() - began) * 0.4e6)
    write("memory.pressure", f"some avg10=0.00 total={stalled}\nfull avg10=0.00 total=0\n")
# The interpreter's own start is a part of the run, and the last look is a tenth of a second before its end.
truth("memory_pressure", [25.0, 40.0])
