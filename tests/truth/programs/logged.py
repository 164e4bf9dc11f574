"""Every request writes hundreds of lines to the log."""

import logging
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, native, truth

logging.basicConfig(filename="/dev/null", level=logging.DEBUG, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("serve")
if FIXED:
    logging.disable()


def trace_tokens() -> None:
    for i in range(150):
        log.debug("token %d of %d: %s", i, 150, "x" * 20)


writing, all_of_it = Clock(), Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        with writing:
            trace_tokens()
        native(3)
truth("logging", writing.spent / all_of_it.spent * 100, at(trace_tokens, "log.debug"), one=all_of_it.mean)
