"""What a record of a GPU takes: of CPU time, on the double of tests/double, and of an enqueue, on PoCL."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

from interval import Interval, added, in_turn
from kit import Kit
from table import Row
from turns import Failed

NAMES = ("libcudart.so", "libcuda.so.1", "libcupti.so.13")
KERNELS = 40_000
ENQUEUES = 5_000
NO_OPENCL = 77
RECORDS = 2  # of a kernel: the call that launched it, and its work


def enqueues(kit: Kit) -> Iterator[Row]:
    """The quickest of many: what others do on the machine is in all but that."""
    argv = [kit.program("opencl_cost"), "cost", str(ENQUEUES)]
    if subprocess.run(argv, capture_output=True, check=False).returncode == NO_OPENCL:
        return
    line = [str(kit.command), "run", "--quiet", "--no-report", "--trace", str(kit.trace), "--force", "--", *argv]

    def least(argv: list[str]) -> tuple[float]:
        return (float(kit.run(argv).out.split()[0]),)

    (ns,) = in_turn(lambda: least(argv), lambda: least(line), added, tight=50, seconds=kit.seconds)
    yield Row("an enqueue of OpenCL, at its least", ns, "ns", limit=2000, digits=0, note="on PoCL")


def records(kit: Kit) -> Iterator[Row]:
    double = kit.build / "tests" / "double" / "libcuda_double.so"
    if not double.exists():
        return
    folder = kit.scratch / "cuda"
    folder.mkdir()
    for name in NAMES:
        (folder / name).symlink_to(double)
    env = {"LD_LIBRARY_PATH": str(folder), "CUDA_DOUBLE": "launch_us=0"}
    for scoped, what in ((0, "a record of a GPU, host time all in"), (1, "the same, in scopes that CUPTI names")):
        argv = [kit.program("launch_cost"), str(KERNELS), str(scoped)]
        files = ["--trace", str(kit.trace), "--report", str(kit.scratch / "report.json"), "--force"]
        line = [str(kit.command), "run", "--quiet", *files, "--", *argv]

        def alone(argv: list[str] = argv) -> tuple[float]:
            return (kit.run(argv, env).said["ns"],)

        def with_us(line: list[str] = line) -> tuple[float]:
            return (kit.run(line, env).said["ns"],)

        (ns,) = in_turn(alone, with_us, added, tight=50, seconds=kit.seconds)
        found = sum(k["count"] for k in kit.report["kernels"])
        if found != 3 * KERNELS:
            raise Failed(f"{found} kernels of {3 * KERNELS} are in the report")
        each = Interval(ns.value / RECORDS, ns.low / RECORDS, ns.high / RECORDS, ns.n)
        limit = 1000 if not scoped else None
        yield Row(what, each, "ns of CPU", limit=limit, digits=0, note="the double's own work for its records included")


def rows(kit: Kit) -> Iterator[Row]:
    yield from records(kit)
    yield from enqueues(kit)
