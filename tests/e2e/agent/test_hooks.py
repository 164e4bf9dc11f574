"""The hooks change nothing: results, errors, signals, cancellation, allocators."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CALLERS = ["hooks_memory.c", "hooks_io.c", "hooks_process.c"]
JEMALLOC = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")


def exported(library: Path) -> set[str]:
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[2].split("@")[0] for line in listed.splitlines()}


def hooks(preload: Any, target: Callable[[str], str]) -> set[str]:
    return set(preload(target("hooks_io.c"), "--list").stdout.split())


def test_every_hook_is_exported_and_nothing_else_is(preload: Any, target: Callable[[str], str]) -> None:
    names = exported(preload.library)
    listed = hooks(preload, target)
    assert len(listed) > 100
    assert listed <= names
    shared = {"isc_producer_self", "isc_stream_refill1", "isc_stream_slow1", "isc_wiped_page"}  # with _core
    shared |= {
        "isc_budget_self",
        "isc_budget_set",
        "isc_budget_fill",
        "isc_budget_pay",
        "isc_budget_pay_late",
        "isc_budget_share",
        "isc_budget_worked",
    }
    found = {
        "isc_agent_hooks",
        "InitializeInjectionNvtx2",
        "cuptiSubscribe",
        "cuptiSubscribe_v2",
    }  # by name, at run time
    assert {name for name in names - listed if not name.startswith("isc_rt_")} == found | shared


def test_every_hook_is_reached(preload: Any, target: Callable[[str], str]) -> None:
    """A call of the program gets to the real function through the hook's own pointer to it."""
    reached = {}
    for caller in CALLERS:
        said = preload(target(caller), "--reached")
        assert said.returncode == 0, said.stderr
        for line in said.stdout.splitlines():
            name, times = line.split()
            reached[name] = int(times)
    assert set(reached) == hooks(preload, target)
    assert not [name for name, times in reached.items() if times == 0]


@pytest.mark.parametrize("caller", CALLERS)
def test_a_hooked_function_answers_as_without_us(preload: Any, target: Callable[[str], str], caller: str) -> None:
    assert len(preload.same(target(caller)).stdout.splitlines()) > 30


@pytest.mark.parametrize("caller", CALLERS)
def test_a_hooked_function_answers_as_without_us_in_a_session(
    session: Any, target: Callable[[str], str], caller: str
) -> None:
    session().same(target(caller))


def test_a_cancelled_thread_runs_its_handlers(preload: Any, target: Callable[[str], str]) -> None:
    """In every blocking call that POSIX makes a cancellation point."""
    said = preload.same(target("cancel.c"))
    assert said.returncode == 0
    assert all(line.endswith("cancelled, cleaned up") for line in said.stdout.splitlines())


def test_a_cancelled_thread_runs_its_destructors(preload: Any, build_c: Callable[..., Path]) -> None:
    said = preload.same(build_c("unwind.cc", "-pthread", cc="c++"))
    assert said.stdout == "destroyed 1, joined cancelled 1\n"


def test_handlers_run_as_often_as_without_us(preload: Any, target: Callable[[str], str]) -> None:
    said = preload.same(target("handlers.c"))
    assert said.stdout.splitlines()[0] == "SIGPROF 50"


def test_faulthandler_prints_the_same(preload: Any, python: str) -> None:
    code = "import faulthandler, os, signal; faulthandler.enable(); os.kill(os.getpid(), signal.SIGSEGV)"
    with_us, without = preload(python, "-c", code), preload.bare(python, "-c", code)
    assert with_us.returncode == without.returncode == -11
    assert "Segmentation fault" in with_us.stderr
    assert re.sub("0x[0-9a-f]+", "", with_us.stderr) == re.sub("0x[0-9a-f]+", "", without.stderr)


def test_calls_from_constructors_before_ours_work(preload: Any, build_c: Callable[..., Path]) -> None:
    """Libraries of the program are set up before the preloaded ones."""
    library = build_c("early.c", "-shared", "-fPIC", "-DLIBRARY", "-pthread", out="libearly.so")
    program = build_c("early.c", str(library), f"-Wl,-rpath,{library.parent}", "-pthread")
    said = preload.same(program)
    assert said.stdout == "early: allocated 72704, read 4, thread 7, program 5\n"


def test_another_allocator_behind_us_is_the_one_used(preload: Any, target: Callable[[str], str]) -> None:
    if not JEMALLOC.exists():
        pytest.skip("no libjemalloc.so.2")
    for order in ({"behind": str(JEMALLOC)}, {"before": str(JEMALLOC)}):
        env = {**preload.variables(**order), "MALLOC_CONF": "stats_print:true,stats_print_opts:gmdablxe"}
        said = preload.run(target("alloc_storm.c"), "2", "2000", "5", env=env)
        assert said.returncode == 0, said.stderr
        assert said.stdout == "2 threads, 5 children, all well\n"
        assert "jemalloc statistics" in said.stderr


@pytest.mark.parametrize("allocator", ["malloc", "debug", "pymalloc", "malloc_debug", "pymalloc_debug"])
def test_python_runs_with_any_allocator_of_its_own(preload: Any, python: str, allocator: str) -> None:
    code = "print(sum(len(str(i) * 50) for i in range(20000)))"
    said = preload.run(python, "-c", code, env={**preload.variables(), "PYTHONMALLOC": allocator})
    assert (said.returncode, said.stdout, said.stderr) == (0, "4444500\n", "")


def test_forks_in_an_allocation_storm_never_hang(
    preload: Any, target: Callable[[str], str], count: Callable[[int, int], int]
) -> None:
    forks = count(100, 1000)
    said = preload(target("alloc_storm.c"), "4", "1000000", str(forks), timeout=120)
    assert said.stdout == f"4 threads, {forks} children, all well\n", said.stderr


def test_python_recurses_as_deep_as_without_us(preload: Any, python: str) -> None:
    code = (
        "import sys, threading\n"
        "sys.setrecursionlimit(3000)\n"
        "def down(n): return n if n == 0 else down(n - 1)\n"
        "threading.stack_size(16 << 20)\n"
        "t = threading.Thread(target=lambda: print(down(2900))); t.start(); t.join()\n"
    )
    preload.same(python, "-c", code)
