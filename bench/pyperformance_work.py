"""A benchmark of pyperformance as a program of the bench: pyperformance_work.py NAME [turns SIZE].

The benchmark's own script runs as it is; what it hands to pyperf's runner is kept and called here, in turns (worker.py)
instead of in processes of pyperf's own.  Without SIZE it prints how much work takes a turn.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import worker

#: Arguments that a benchmark's script asks for.
ARGUMENTS = {"async_tree": ["none"], "pickle": ["pickle"], "logging": ["format"]}
PIECE_S = 0.04  # what is measured of a turn

Loops = Callable[[int], object]


def repeated(function: Callable[..., object], args: tuple[Any, ...]) -> Loops:
    def loops(n: int) -> None:
        for _ in range(n):
            function(*args)

    return loops


def awaited(function: Callable[..., Any], args: tuple[Any, ...]) -> Loops:
    async def all_of(n: int) -> None:
        for _ in range(n):
            await function(*args)

    return lambda n: asyncio.run(all_of(n))


def captured(name: str) -> list[Loops]:
    """All that the script of the benchmark would measure."""
    pyperf: Any = importlib.import_module("pyperf")
    found: list[Loops] = []

    class Runner(pyperf.Runner):  # type: ignore[misc]
        def bench_func(self, _: str, function: Callable[..., object], *args: Any, **__: Any) -> None:
            found.append(repeated(function, args))

        def bench_time_func(self, _: str, function: Callable[..., object], *args: Any, **__: Any) -> None:
            found.append(lambda n: function(n, *args))

        def bench_async_func(self, _: str, function: Callable[..., Any], *args: Any, **__: Any) -> None:
            found.append(awaited(function, args))

    pyperf.Runner = Runner
    spec = importlib.util.find_spec("pyperformance")
    assert spec is not None and spec.origin is not None
    script = Path(spec.origin).parent / "data-files" / "benchmarks" / f"bm_{name}" / "run_benchmark.py"
    sys.argv = [str(script), *ARGUMENTS.get(name, [])]
    sys.path.insert(0, str(script.parent))
    runpy.run_path(str(script), run_name="__main__")
    return found


def size_of(work: Loops) -> int:
    """So many loops take a turn; at least one."""
    n = 1
    while True:
        begin = time.perf_counter()
        work(n)
        took = time.perf_counter() - begin
        if took >= PIECE_S / 4:
            return max(1, round(n * PIECE_S / took))
        n *= 2


def main() -> None:
    name, *rest = sys.argv[1:]
    parts = captured(name)

    def work(n: int) -> None:
        for part in parts:
            part(n)

    if rest:
        worker.in_turns(work, int(rest[1]))
    else:
        work(1)
        print(json.dumps({"size": size_of(work), "parts": len(parts)}))


if __name__ == "__main__":
    main()
