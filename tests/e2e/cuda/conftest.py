"""CUDA without a GPU: programs run on the double of tests/double."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / os.environ.get("INFERSCOPE_BUILD", "build")
RUNTIME = ("libcudart.so", "libcudart.so.13", "libcuda.so.1")
NAMES = (*RUNTIME, "libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.0")


@dataclass
class Work:
    """What a device really did, in times of the host."""

    kind: str
    device: int
    stream: int
    correlation: int
    called_ns: int
    start_ns: int
    end_ns: int
    bytes: int
    name: str


@dataclass
class Cuda:
    """Calling it runs the program under the command, on scripted devices."""

    command: Any
    folder: Path
    libraries: Path
    program: Path

    def environment(self, **script: Any) -> dict[str, str]:
        given = {"truth": self.folder / "truth", "log": self.folder / "log", **script}
        text = ";".join(f"{key}={value}" for key, value in given.items())
        return {"CUDA_DOUBLE": text, "LD_LIBRARY_PATH": str(self.libraries)}

    def __call__(self, *args: str | Path, options: tuple[str, ...] = (), **script: Any) -> Any:
        for old in self.folder.glob("truth.*"):
            old.unlink()
        (self.folder / "log").unlink(missing_ok=True)
        env = self.environment(**script)
        run = self.command("run", *options, "--", self.program, *args, env=env, timeout=120)
        run.truth = self.truth()
        return run

    def truth(self) -> list[Work]:
        works = []
        for file in self.folder.glob("truth.*"):
            for line in file.read_text().splitlines():
                kind, *rest = line.split(None, 8)
                if kind != "note":
                    device, stream, correlation, called, start, end, size = map(int, rest[:7])
                    works.append(Work(kind, device, stream, correlation, called, start, end, size, rest[7]))
        return works

    def log(self) -> list[str]:
        file = self.folder / "log"
        return file.read_text().splitlines() if file.exists() else []


def double() -> Path:
    found = sorted((BUILD / "tests" / "double").glob("libcuda_double.so"))
    if not found:
        pytest.fail(f"there is no double of CUDA in {BUILD}: run make all")
    return found[0]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file under the names of CUDA's libraries."""
    folder = tmp_path_factory.mktemp("cuda")
    for name in NAMES:
        (folder / name).symlink_to(double())
    return folder


@pytest.fixture(scope="session")
def program(libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain C program that knows nothing of the double."""
    out = tmp_path_factory.mktemp("program") / "cuda_steps"
    source = ROOT / "tests" / "targets" / "cuda_steps.c"
    flags = ["-O1", "-g", "-Wall", "-Wextra", "-D_GNU_SOURCE", f"-L{libraries}"]
    subprocess.run(["cc", *flags, str(source), "-o", str(out), "-l:libcudart.so", "-lpthread"], check=True)
    return out


@pytest.fixture
def site(stage: Path) -> str:
    """Where the package lies."""
    return str(next(stage.glob("lib/python*/site-packages")))


@pytest.fixture
def cuda(inferscope: Any, libraries: Path, program: Path, tmp_path: Path) -> Cuda:
    return Cuda(inferscope, tmp_path, libraries, program)


def counted(works: list[Work]) -> Counter[tuple[str, int]]:
    return Counter((w.kind, w.device) for w in works)


def reported(run: Any) -> Counter[tuple[str, int]]:
    """The same from the report."""
    found: Counter[tuple[str, int]] = Counter()
    for kernel in run.report.kernels:
        kind = "graph" if kernel.name == "CUDA graph" else "kernel"
        found[(kind, kernel.device_id)] += kernel.count
    for copy in run.report.copies:
        found[(copy.kind, copy.device_id)] += copy.count
    for gpu in run.report.gpus:
        if gpu.sync_count:
            found[("sync", gpu.device_id)] += gpu.sync_count
    return found


def warned(run: Any) -> list[str]:
    return [w.id for w in run.report.warnings if w.id.startswith(("gpu_", "unstamped", "early", "unlinked"))]


def said(run: Any) -> list[str]:
    """Warnings on the terminal that speak of GPUs."""
    lines = [line for line in run.stderr.splitlines() if line.startswith("inferscope: warning:")]
    return [line for line in lines if "GPU" in line or "CUPTI" in line]


def copy_of_double(folder: Path, *names: str) -> None:
    """Another file, so another library in a process that has both."""
    for name in names:
        shutil.copy(double(), folder / name)


def gpu_times(trace: Path) -> list[tuple[int, int, int, int, int]]:
    """(device, correlation, start_ns, end_ns, error_ns) of all work, as the analysis places it."""
    tool = BUILD / "tests" / "unit" / "gpu_times"
    text = subprocess.run([tool, trace], capture_output=True, text=True, check=True).stdout
    rows = [tuple(int(word) for word in line.split()) for line in text.splitlines()]
    return [(a, b, c, d, e) for a, b, c, d, e in rows]
