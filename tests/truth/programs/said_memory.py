"""What the programs about memory share: files that stand for the kernel's, and waiting for pages to be read."""

import mmap
import os
import resource
import tempfile
import time
from pathlib import Path

from inferscope import scope
from said import FIXED, SECONDS, Clock, native, skip, truth

SIZE, STEP = 16 << 20, 256 << 10


def write(name: str, text: str) -> None:
    """Into a folder that the recorder looks at in place of this process's; it keeps some of the files open."""
    (Path(os.environ["TRUTH_MEMORY"]) / name).write_text(text)


def read_in(cause: str) -> None:
    """A file is mapped anew and read from the disk, page by page, in every request."""
    file = tempfile.TemporaryFile(dir=Path.cwd())  # noqa: SIM115  to the end
    file.write(os.urandom(SIZE))
    file.flush()
    os.fsync(file.fileno())

    def load() -> int:
        if not FIXED:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with mmap.mmap(file.fileno(), SIZE, prot=mmap.PROT_READ) as weights:
            weights.madvise(mmap.MADV_RANDOM)
            return sum(weights[at] for at in range(0, SIZE, STEP))

    reading, all_of_it = Clock(), Clock()
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_majflt
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        with all_of_it, scope("request"):
            with reading:
                load()
            native(4)
    faults = resource.getrusage(resource.RUSAGE_THREAD).ru_majflt - before
    share = reading.spent / all_of_it.spent * 100
    if not FIXED and (faults < all_of_it.times * SIZE // STEP // 2 or share < 15):
        skip("no disk here that a page would have to be waited for")
    # The way into the kernel and back is not waiting.
    truth(cause, [share * 0.5, share], one=all_of_it.mean)
