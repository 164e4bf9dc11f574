"""Do no harm: programs behave with us as without us (H1), and every child is there (H2)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "targets"))

TARGETS = Path(__file__).resolve().parents[1] / "targets"
PYTHON_PROGRAMS = re.findall(r"^def ([a-z]\w*)\(\):", (TARGETS / "harmless.py").read_text(), re.MULTILINE)
C_PROGRAMS = re.findall(r'\{"(\w+)", ', (TARGETS / "harmless.c").read_text())
COMMANDS = {
    "pipeline": ["sh", "-c", "echo b a c | tr ' ' '\\n' | sort | head -2; exit 5"],
    "clean environment": [
        "env",
        "-i",
        "PATH=/usr/bin:/bin",
        "sh",
        "-c",
        "env | grep -v -e INFERSCOPE -e LD_PRELOAD | sort",
    ],
    "perl": ["perl", "-e", 'print "x" x 10, "\\n"; system("exit 3"); print $? >> 8, "\\n"; exit 8'],
    "killed by itself": ["sh", "-c", "kill -KILL $$"],
    "hang-up": ["sh", "-c", "kill -HUP $$; sleep 5"],
    "make": ["make", "-f", "-", "-s"],
    "true": ["true"],
    "false": ["false"],
}


def bare(command: list[str], env: dict[str, str], cwd: Path, given: str) -> tuple[int, str, str]:
    done = subprocess.run(
        command, env=env, cwd=cwd, input=given, capture_output=True, text=True, errors="surrogateescape", timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def plain(text: str) -> str:
    """Without what differs between two bare runs: addresses and process numbers."""
    return re.sub(r"0x[0-9a-f]+|\bpid[ =]\d+", "N", text)


def compare(inferscope, options: list[str], ours: list[str], theirs: list[str], given: str = "") -> None:
    expected = bare(theirs, inferscope.environment, inferscope.folder, given)
    run = inferscope("run", *options, *ours, input=given)
    assert run.returncode == expected[0]
    assert run.stdout == expected[1]
    assert plain(run.theirs) == plain(expected[2])


GIVEN = {"echo": "a line\nanother\n", "make": "all:\n\t@echo made; exit 0\n"}


@pytest.mark.parametrize("name", PYTHON_PROGRAMS)
def test_h1_a_python_program_behaves_as_without_us(inferscope, target, python: str, name: str) -> None:
    """H1."""
    script = target("harmless.py")
    compare(inferscope, ["--python", python], [script, name], [python, script, name], GIVEN.get(name, ""))


@pytest.mark.parametrize("name", PYTHON_PROGRAMS)
def test_h1_a_python_program_behaves_as_without_us_with_every_frame_traced(
    inferscope, target, python: str, name: str
) -> None:
    """H1: what the default settings skip or thin out is traced too."""
    script = target("harmless.py")
    options = ["--no-report", "--all-frames", "--budget", "off", "--python", python]
    compare(inferscope, options, [script, name], [python, script, name], GIVEN.get(name, ""))


EVERYTHING = ["--rate", "1000", "--native", "on", "--budget", "off", "--all-frames", "--c-calls", "--syscall-args"]


@pytest.mark.long
# One that lists its descriptors sees perf's among them at this rate (docs/samples.md).
@pytest.mark.parametrize("name", [*(name for name in PYTHON_PROGRAMS if name != "descriptors"), *C_PROGRAMS])
def test_h1_a_program_behaves_as_without_us_at_1_khz_with_everything_on(
    inferscope, target, python: str, name: str
) -> None:
    """H1."""
    if name in C_PROGRAMS:
        command = [target("harmless.c"), name]
        compare(inferscope, [*EVERYTHING, "--follow", "all"], ["--", *command], command)
    else:
        script = target("harmless.py")
        options = [*EVERYTHING, "--python", python]
        compare(inferscope, options, [script, name], [python, script, name], GIVEN.get(name, ""))


@pytest.mark.parametrize("name", C_PROGRAMS)
def test_h1_a_c_program_behaves_as_without_us(inferscope, target, name: str) -> None:
    """H1."""
    command = [target("harmless.c"), name]
    compare(inferscope, ["--follow", "all"], ["--", *command], command)


@pytest.mark.parametrize("name", COMMANDS)
def test_h1_a_command_behaves_as_without_us(inferscope, name: str) -> None:
    """H1."""
    compare(inferscope, [], ["--", *COMMANDS[name]], COMMANDS[name], GIVEN.get(name, ""))


def test_h1_covers_at_least_thirty_programs() -> None:
    """H1: the promise names thirty."""
    assert len(PYTHON_PROGRAMS) + len(C_PROGRAMS) + len(COMMANDS) >= 30


FAMILIES = [
    "fork",
    "fork_in_thread",
    "exec_image",
    "shell",
    "spawn_without_environment",
    "pool_spawn",
    "pool_fork",
    "executor",
    "async_subprocess",
    "daemonised",
    "generations",
]
C_FAMILIES = ["vfork_exec", "raw_clone", "spawn", "daemonise"]


@pytest.mark.parametrize("name", FAMILIES)
def test_h2_python_families_end_and_every_child_is_listed(inferscope, target, count, name: str) -> None:
    """H2: no hang, no child missing, however it was made."""
    for _ in range(count(2, 50)):
        run = inferscope("run", "--python", sys.executable, target("harmless.py"), name, timeout=60)
        assert run.returncode == (9 if name == "exec_image" else 0)
        listed = run.report.processes if "processes" in run.report else run.report.program.processes
        assert len(listed) >= LEAST[name], [p.argv for p in listed]


@pytest.mark.long
@pytest.mark.parametrize("name", FAMILIES)
def test_h2_families_end_and_every_child_is_listed_at_1_khz_with_everything_on(inferscope, target, name: str) -> None:
    """H2."""
    for _ in range(5):
        run = inferscope("run", *EVERYTHING, "--python", sys.executable, target("harmless.py"), name, timeout=120)
        assert run.returncode == (9 if name == "exec_image" else 0)
        assert len(run.report.program.processes) >= LEAST[name], [p.argv for p in run.report.program.processes]


LEAST = {
    "fork": 6,
    "fork_in_thread": 2,
    "exec_image": 1,
    "shell": 4,
    "spawn_without_environment": 2,
    "pool_spawn": 4,
    "pool_fork": 3,
    "executor": 3,
    "async_subprocess": 2,
    "daemonised": 3,
    "generations": 5,
    "vfork_exec": 21,
    "raw_clone": 2,
    "spawn": 2,
    "daemonise": 3,
}


@pytest.mark.parametrize("name", C_FAMILIES)
def test_h2_c_families_end_and_every_child_is_listed(inferscope, target, count, name: str) -> None:
    """H2."""
    for _ in range(count(2, 50)):
        run = inferscope("run", "--", target("harmless.c"), name, timeout=60)
        assert run.returncode == 0
        assert len(run.report.program.processes) >= LEAST[name], [p.argv for p in run.report.program.processes]
