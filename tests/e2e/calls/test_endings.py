"""Traced threads while the program ends, forks, changes its image or runs out of stack: nobody can tell (H1, H9)."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.calls.counting import version
else:
    from counting import version

TARGETS = Path(__file__).resolve().parents[2] / "targets"
ENDINGS = re.findall(r"^def (\w+)\(\):", (TARGETS / "endings.py").read_text(), re.MULTILINE)
MODES = [[], ["--all-frames", "--budget", "off"]]


def alone(inferscope: Any, python: str, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [python, *words],
        capture_output=True,
        text=True,
        env=inferscope.environment,
        cwd=inferscope.folder,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def lines(run: Any) -> Iterator[str]:
    """Call events of the trace as text, one by one: there may be millions."""
    with subprocess.Popen([run.command, "dump", run.trace], stdout=subprocess.PIPE, text=True) as dump:
        assert dump.stdout is not None
        yield from (line for line in dump.stdout if re.match(r"[+-]\S+ p\d+ t\d+ .*#\d+ (call_enter|missed)", line))
        assert dump.wait(60) == 0


@pytest.mark.parametrize("name", ENDINGS)
def test_h1_a_program_with_traced_threads_ends_as_without_us(
    inferscope: Any, target: Callable[[str], str], count: Callable[[int, int], int], python: str, name: str
) -> None:
    """H1, H2: fork in a thread, daemon threads at exit, atexit, os._exit, exec from a thread and more."""
    script = target("endings.py")
    expected = alone(inferscope, python, script, name)
    for i in range(count(2, 50)):
        run = inferscope("run", "--no-report", *MODES[i % 2], "--python", python, script, name)
        assert (run.returncode, run.stdout, run.theirs) == expected
    assert any("endings.py" in line for line in lines(run)), "and yet it was traced"


@pytest.mark.plain  # under strace leaks cannot be looked for
@pytest.mark.parametrize("options", MODES, ids=["default", "all"])
def test_h1_daemon_threads_get_no_time_in_an_interpreter_that_is_gone(
    inferscope: Any, target: Callable[[str], str], python: str, options: list[str]
) -> None:
    """H1: on 3.10 they read what was freed if anything takes time after that, so nothing of ours may.

    A look at the CPU time of the process is a system call; here it takes 20 ms, in which they wake up.
    """
    if shutil.which("strace") is None:
        pytest.fail("strace is not installed; run make setup")
    slow = ["strace", "-f", "-qq", "-o", "/dev/null"]
    slow += ["-e", "trace=clock_gettime", "-e", "inject=clock_gettime:delay_enter=20000"]
    words = ("run", "--no-report", *options, "--python", python, target("endings.py"), "daemon_threads_at_exit")
    expected = alone(inferscope, python, target("endings.py"), "daemon_threads_at_exit")
    done = subprocess.run(
        [*slow, *inferscope.arguments(words)],
        capture_output=True, text=True, env=inferscope.environment, cwd=inferscope.folder, timeout=60, check=False,
    )  # fmt: skip
    if "PTRACE_" in done.stderr:
        pytest.skip("strace may not watch here")
    # Of threads that end while they are held up it says so.
    said = "".join(line for line in done.stderr.splitlines(True) if not line.startswith("strace: "))
    run = inferscope.result(done.returncode, done.stdout, said)
    assert (run.returncode, run.stdout, run.theirs) == expected
    assert any("endings.py" in line for line in lines(run)), "and yet it was traced"


# Name, number, and whether the stack is used so far that calls are missed on 3.11.
STACKS = [
    ("plain", 10_000, False),
    ("plain", 60_000, True),
    ("until_the_limit", 10_000, False),
    ("generators", 500, False),
    ("by_comparing", 500, False),
    ("by_mapping", 2000, False),
    ("by_substituting", 2000, False),
    ("by_reducing", 2000, False),
    ("by_calling_back", 50, False),
    ("by_parsing", 1500, False),
    ("small_threads", 32, False),
    ("small_threads", 64, False),
    ("small_threads", 128, False),
    ("small_threads", 256, False),
    ("alternate_stack", 128, True),
]


@pytest.mark.parametrize("name, number, misses", STACKS)
def test_h9_deep_and_small_stacks_hold_as_without_us(
    inferscope: Any, target: Callable[[str], str], python: str, name: str, number: int, misses: bool
) -> None:
    """H9: no crash, and calls that were not recorded for want of stack are flagged."""
    script = target("stacks.py")
    if name == "plain" and version(python) < (3, 11):
        number = min(number, 12_000)  # each call takes C stack, with and without us
    expected = alone(inferscope, python, script, name, str(number))
    assert expected[0] in (0, 1), "it is a program that runs"
    run = inferscope("run", "--no-report", *MODES[1], "--python", python, script, name, str(number))
    assert (run.returncode, run.stdout, run.theirs) == expected
    missed = [line for line in lines(run) if re.search(r"#\d+ missed", line)]
    if version(python) == (3, 11):
        assert bool(missed) == misses
    if version(python) >= (3, 12):
        assert not missed, "no call of ours is on the stack of the program's"
