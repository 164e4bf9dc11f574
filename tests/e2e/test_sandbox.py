"""What default Docker gives, and less: a report every time, and each missing source named with a remedy (D6)."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.accounting import beside
else:
    from accounting import beside

# A sanitizer wants system calls and memory that these surroundings refuse.
pytestmark = pytest.mark.plain

ROOT = Path(__file__).resolve().parents[2]
LIKE_DOCKER = ROOT / "tests" / "harness" / "like-docker"
SANDBOX_SOURCE = ROOT / "tests" / "harness" / "sandbox.c"
NOBODY = 65534
SKIPPED = 77


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str
    report: dict[str, Any] | None
    dump: list[str]

    def warning(self, words: str) -> dict[str, Any] | None:
        """The warning that says this, if any."""
        assert self.report is not None, self.stderr
        return next((w for w in self.report["warnings"] if words in w["text"]), None)


@dataclass
class Box:
    """A folder that every user may enter, with an installation, programs and a folder for outputs in it."""

    folder: Path
    outputs: Path
    command: Path
    sandbox: Path
    environment: dict[str, str]

    def program(self, path: str) -> Path:
        copy = self.folder / "programs" / Path(path).name
        if not copy.exists():
            shutil.copy(path, copy)
        return copy

    def finish(self, words: list[str], **options: Any) -> Done:
        for old in self.outputs.iterdir():
            old.unlink()
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=60, check=False, env=self.environment, **options
        )
        report = self.outputs / "report.json"
        facts = json.loads(report.read_text()) if report.exists() else None
        return Done(done.returncode, done.stdout, done.stderr, facts, self.dump())

    def dump(self) -> list[str]:
        trace = self.outputs / "inferscope.isc"
        if not trace.exists():
            return []
        words = [str(self.command), "dump", str(trace)]
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False).stdout.splitlines()

    def recording(self, words: tuple[str | Path, ...], *options: str) -> list[str]:
        return [str(self.command), "run", "--report", "report.json", *options, "--", *map(str, words)]

    def run(self, *words: str | Path, like: list[str] | None = None, options: list[str] | None = None) -> Done:
        """As in a container; `like` is what differs from Docker's default, options are those of run."""
        recording = self.recording(words, *(options or []))
        done = self.finish(
            [str(LIKE_DOCKER), str(self.sandbox), "-w", str(self.outputs), *(like or []), "--", *recording]
        )
        if done.returncode == SKIPPED and "skipped" in done.stderr:
            pytest.skip("a container needs root and namespaces")
        return done

    def filtered(self, *words: str | Path, deny: list[str] | None = None, options: list[str] | None = None) -> Done:
        """With system calls refused, and nothing else; needs no root."""
        more = [part for call in deny or [] for part in ("--deny", call)]
        return self.finish([str(self.sandbox), *more, "--", *self.recording(words, *(options or []))], cwd=self.outputs)


@pytest.fixture(scope="module")
def shared_box(stage: Path) -> Iterator[Box]:
    # pytest's own folders are closed to other users.
    folder = Path(tempfile.mkdtemp(prefix="isc-box-"))
    folder.chmod(0o755)
    shutil.copytree(stage, folder / "prefix")
    (folder / "programs").mkdir()
    (folder / "out").mkdir()
    sandbox = folder / "sandbox"
    subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", str(SANDBOX_SOURCE), "-o", str(sandbox)], check=True)
    ours = ("INFERSCOPE_", "LD_", "PYTHON", "XDG_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours) and name != "VIRTUAL_ENV"}
    yield Box(folder, folder / "out", folder / "prefix" / "bin" / "inferscope", sandbox, clean)
    shutil.rmtree(folder)


@pytest.fixture
def box(shared_box: Box) -> Box:
    shared_box.outputs.chmod(0o777)
    return shared_box


Target = Callable[[str], str]


def accounted(done: Done) -> int:
    """Events that the program made, without samples and waits."""
    assert done.report is not None, done.stderr
    return int(done.report["overhead"]["events"]) + int(done.report["overhead"]["lost"]) - beside(done.dump)


# ---- Docker's default profile ------------------------------------------------------------


def test_a_container_gives_a_report_and_names_what_it_refuses(box: Box, target: Target) -> None:
    done = box.run(box.program(target("marks.c")), "1000", "2")
    assert (done.returncode, done.stdout) == (0, "6001\n"), done.stderr
    assert accounted(done) == 6001
    refused = done.warning("a seccomp filter refuses perf events")
    assert refused is not None
    assert "seccomp profile" in refused["remedy"]
    # One line of it, with the remedy, on the terminal too.
    lines = [line for line in done.stderr.splitlines() if "seccomp" in line]
    assert len(lines) == 1
    assert lines[0].startswith("inferscope: ")


@pytest.mark.parametrize("ending", ["exit 0", "exit 7", "exit 255", "kill -TERM $$", "kill -SEGV $$", "kill -KILL $$"])
def test_pid_1_exits_as_the_program_and_with_128_and_the_signal(box: Box, ending: str) -> None:
    """As PID 1, and under an init of the container's own."""
    bare = subprocess.run(["bash", "-c", f"sh -c '{ending}'; exit $?"], capture_output=True, check=False).returncode
    for like in ([], ["-i"]):
        done = box.run("sh", "-c", ending, like=like)
        assert done.returncode == bare, done.stderr
        assert done.report is not None


def test_pid_1_reaps_orphans(box: Box, target: Target) -> None:
    done = box.run(box.program(target("crowd.c")), "orphans", "20")
    assert (done.returncode, done.stdout) == (11, "orphans 20, left 0, parent 1\n")
    assert done.report is not None
    assert len(done.report["program"]["processes"]) >= 41


def test_in_a_container_every_short_process_is_listed(box: Box, target: Target) -> None:
    done = box.run(box.program(target("crowd.c")), "forks", "300")
    assert (done.returncode, done.stdout) == (0, "children 300, sum 14850\n")
    assert done.report is not None
    assert len(done.report["program"]["processes"]) == 301


def test_in_a_container_a_python_does_as_without_us(box: Box) -> None:
    code = "import os, subprocess, sys; print(os.getpid() > 0, subprocess.run(['true']).returncode); sys.exit(5)"
    done = box.run("/usr/bin/python3", "-c", code)
    if done.returncode == 127:
        pytest.skip("no /usr/bin/python3")
    assert (done.returncode, done.stdout) == (5, "True 0\n"), done.stderr
    theirs = [line for line in done.stderr.splitlines() if not line.startswith("inferscope:")]
    assert theirs == []


def test_doctor_in_a_container_names_the_remedy(box: Box) -> None:
    words = [str(LIKE_DOCKER), str(box.sandbox), "-w", str(box.outputs), "--", str(box.command), "doctor"]
    done = box.finish(words)
    if done.returncode == SKIPPED:
        pytest.skip("a container needs root and namespaces")
    assert done.returncode == 0, done.stdout
    assert "limited  context switches" in done.stdout
    assert "allow perf_event_open" in done.stdout
    assert "ok       session memory    64 MiB free in /dev/shm" in done.stdout


# ---- D6: sources refused, in combination ----------------------------------------------------

PERF = {"perf": ["--allow", "perf_event_open"], "no perf": [], "no such call": ["--answer", "ENOSYS"]}
MEMORY = {"memory": [], "little memory": ["-s", "1m"], "no memory": ["-s", "none"]}
PROC = {"proc": [], "own proc": ["-p", "hidden"], "no proc": ["-p", "empty"]}
CALLS = {
    "calls": [],
    "no ptrace": ["--deny", "ptrace", "--deny", "process_vm_readv"],
    "old kernel": ["--deny", "pidfd_open", "--deny", "memfd_create", "--deny", "rt_tgsigqueueinfo"],
}
COMBINATIONS = list(itertools.product(PERF, MEMORY, PROC, CALLS))


def chosen() -> list[tuple[str, str, str, str]]:
    """All of them in `make full`; else each one alone, and some at random."""
    if os.environ.get("INFERSCOPE_LONG") == "1":
        return COMBINATIONS
    usual = ("perf", "memory", "proc", "calls")
    alone = [c for c in COMBINATIONS if sum(a != b for a, b in zip(c, usual)) <= 1]
    rest = [c for c in COMBINATIONS if c not in alone]
    return alone + random.Random(6).sample(rest, 12)


@pytest.mark.parametrize("perf,memory,proc,calls", chosen())
def test_d6_a_report_whatever_is_refused(
    box: Box, target: Target, perf: str, memory: str, proc: str, calls: str
) -> None:
    """D6."""
    # Options of like-docker itself come before those of the sandbox.
    like = [*MEMORY[memory], *PROC[proc], *PERF[perf], *CALLS[calls]]
    done = box.run(box.program(target("crowd.c")), "hidden", "1000", like=like)
    assert (done.returncode, done.stdout) == (0, "child 8\n1000\n"), done.stderr
    assert accounted(done) == 1000
    assert done.report is not None
    assert len(done.report["program"]["processes"]) == 2
    expected = {"no_switches": perf != "perf", "session_on_disk": memory != "memory", "recorder": proc == "no proc"}
    remedies = {warning["id"]: warning["remedy"] for warning in done.report["warnings"]}
    assert {name: name in remedies for name in expected} == expected
    assert all(remedies[name] for name, there in expected.items() if there)


@pytest.mark.parametrize("option", ["--report", "--trace"])
def test_d6_a_place_that_is_read_only_is_told_before_the_start(box: Box, option: str) -> None:
    elsewhere = box.folder / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    elsewhere.chmod(0o777)
    file = elsewhere / ("x.isc" if option == "--trace" else "x.md")
    done = box.run("sh", "-c", "echo ran", options=[option, str(file)])
    assert done.returncode == 125
    assert done.stdout == ""
    assert done.stderr.startswith(f"inferscope: cannot write {file}")
    assert ": Read-only file system; " in done.stderr
    assert done.stderr.count("\n") == 1


# ---- without root ---------------------------------------------------------------------------


def test_refused_calls_alone_need_no_container(box: Box, target: Target) -> None:
    deny = ["ptrace", "process_vm_readv", "pidfd_open", "memfd_create"]
    done = box.filtered(box.program(target("marks.c")), "1000", deny=deny)
    assert (done.returncode, done.stdout) == (0, "3001\n"), done.stderr
    assert accounted(done) == 3001
    assert done.warning("a seccomp filter refuses perf events") is not None


def test_without_perf_every_short_process_is_listed(box: Box, target: Target) -> None:
    done = box.filtered(box.program(target("crowd.c")), "forks", "500")
    assert (done.returncode, done.stdout) == (0, "children 500, sum 24750\n"), done.stderr
    assert done.report is not None
    assert len(done.report["program"]["processes"]) == 501


def test_without_signalfd_the_program_is_not_started(box: Box) -> None:
    done = box.filtered("sh", "-c", "echo ran", deny=["signalfd4"])
    assert done.returncode == 125
    assert done.stdout == ""
    assert done.stderr.startswith("inferscope: cannot read signals through a descriptor: ")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_needs_nothing_more(box: Box, target: Target) -> None:
    user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--bounding-set=-all"]
    recording = box.recording((box.program(target("marks.c")), "1000", "2"))
    done = box.finish([*user, "--inh-caps=-all", *recording], cwd=box.outputs)
    assert (done.returncode, done.stdout) == (0, "6001\n"), done.stderr
    assert accounted(done) == 6001
    for file in box.outputs.iterdir():
        assert file.stat().st_uid == NOBODY
        assert file.stat().st_mode & 0o777 == 0o600
