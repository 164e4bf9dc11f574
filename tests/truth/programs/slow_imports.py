"""Without scopes: importing takes long, and is not what the program does."""

import sys
import tempfile
import time
from pathlib import Path

from said import FIXED, SECONDS, Clock, at, native, truth

with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "heavy.py").write_text("total = 0\nfor i in range(9000000):\n    total += i % 3\n")
    sys.path.insert(0, folder)
    import heavy  # type: ignore[import-not-found]  # noqa: F401


def backoff() -> None:
    time.sleep(0 if FIXED else 0.006)


sleeping, all_of_it = Clock(), Clock()
end = time.perf_counter() + SECONDS * 0.6
while time.perf_counter() < end:
    with all_of_it:
        with sleeping:
            backoff()
        native(4)
truth("sleeping", sleeping.spent / all_of_it.spent * 100, at(backoff, "sleep"), one=all_of_it.mean)
