"""What the programs here share: work, and when they were where."""

import hashlib
import os
import sys
import time
from types import ModuleType

BLOCK = b"x" * 500_000
REQUEST = 0.01  # seconds of CPU time, about


def tell(name: str, at: "int | None" = None) -> None:
    """name: of a moment, which is the end or the begin of a phase."""
    line = f"{os.getpid()} {name} {at if at is not None else time.monotonic_ns()}\n"
    os.write(1, line.encode())


def spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        hashlib.sha256(BLOCK).digest()


def heavy(seconds: float, name: str = "heavy") -> ModuleType:
    """Imports a module whose body takes so long."""
    import importlib
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"{name}.py").write_text(f"import told\ntold.spin({seconds})\n")
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        module = __import__(name)
        sys.path.remove(folder)
    return module
