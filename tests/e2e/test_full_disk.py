"""S4: no room, no quota, no reader, no permission.  The program runs as ever, and what was written can be read."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.accounting import QUIET
    from tests.e2e.conftest import Command, Run
else:
    from accounting import QUIET

# A sanitizer wants system calls and memory that are refused here.
pytestmark = pytest.mark.plain

Target = Callable[[str], str]
SIZES = [4, 8, 12, 16, 20, 28, 40, 56, 80, 112, 160, 224, 320, 448, 640, 900, 1300, 1800, 2600, 5200]
SHORT = [4, 12, 40, 160, 640, 5200]
MARKS = 50_000


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """small(KILOBYTES) mounts a file system of that size."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    mounted: list[Path] = []

    def mount(kilobytes: int) -> Path:
        place = tmp_path / f"small-{kilobytes}"
        place.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(place)], check=False)
        if done.returncode:
            pytest.skip("this root may not mount")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", str(place)], check=True)


def readable(inferscope: Command, trace: Path) -> None:
    """dump and analyze come to the end of it."""
    dump = inferscope("dump", trace, plain=True)
    assert dump.returncode in (0, 3), dump.stderr
    assert dump.stdout.splitlines()[-1].startswith("stats complete ")
    report = inferscope.folder / "again.json"
    analysis = inferscope("analyze", trace, "--output", report, "--force", "--quiet", plain=True)
    assert analysis.returncode in (0, 3), analysis.stderr
    assert report.exists()


def unharmed(run: Run, marks: int = MARKS) -> None:
    assert run.returncode == 0, run.stderr
    assert run.stdout == f"{1 + 3 * marks}\n"
    assert run.theirs == ""


@pytest.mark.parametrize("kilobytes", SIZES if os.environ.get("INFERSCOPE_LONG") == "1" else SHORT)
def test_s4_a_disk_that_fills_up_at_any_size(
    inferscope: Command, target: Target, small: Callable[[int], Path], kilobytes: int
) -> None:
    """S4: trace and report on a disk of that size."""
    disk = small(kilobytes)
    words: list[str | Path] = [
        "--trace",
        disk / "t.isc",
        "--report",
        disk / "r.json",
        "--",
        target("marks.c"),
        str(MARKS),
    ]
    run = inferscope("run", *words)
    unharmed(run)
    for file in ("the trace", "r.json"):
        assert len([line for line in run.ours if f"cannot write {file}" in line or f"{file}: No space" in line]) <= 1
    if kilobytes <= 12:
        assert any("No space left" in line for line in run.ours)
    readable(inferscope, disk / "t.isc")


def test_s4_the_session_beside_a_trace_on_a_full_disk(
    inferscope: Command, target: Target, small: Callable[[int], Path], count: Callable[[int, int], int]
) -> None:
    """No room in /dev/shm, and just enough beside the trace: never a bus error."""
    if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("this root may not make a mount namespace")
    for kilobytes in [6400, 7000, 9000, 12000] if count(0, 1) == 0 else range(6000, 16000, 500):
        disk = small(kilobytes)
        command = inferscope.arguments(
            ("run", "--trace", disk / "t.isc", "--no-report", "--", target("marks.c"), "60000")
        )
        script = 'mount -t tmpfs -o ro none /dev/shm && exec "$@"'
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "-", *command],
            capture_output=True, text=True, timeout=60, env=inferscope.environment, check=False,
        )  # fmt: skip
        if done.returncode == 125:
            assert "no room" in done.stderr or "cannot make the session" in done.stderr
            continue
        assert (done.returncode, done.stdout) == (0, "180001\n"), done.stderr
        readable(inferscope, disk / "t.isc")


def sessions_of(folder: Path) -> list[Path]:
    """Session folders of traces in this folder; others' may come and go meanwhile."""
    found = []
    for session in [*Path("/dev/shm").glob("inferscope-*"), *folder.glob("inferscope-*-*")]:
        with suppress(OSError):
            if session.parent == folder or bytes(folder) in (session / "control").read_bytes():
                found.append(session)
    return found


# ---- calls that fail ------------------------------------------------------------------------

CALLS = {
    "pwrite64": ["EDQUOT:when=1+", "EIO:when=1+"],
    "pwritev": ["EDQUOT:when=1+", "EDQUOT:when=4+", "EIO:when=7", "EINTR:when=3", "EROFS:when=10+"],
    "fallocate": ["EDQUOT:when=1+", "EDQUOT:when=2+", "EOPNOTSUPP:when=1+", "EINTR:when=1"],
    "renameat2": ["EDQUOT:when=1", "EINVAL:when=1"],
    "mkdir": ["EDQUOT:when=1", "EDQUOT:when=1+"],
    "flock": ["ENOLCK:when=2+"],
    "ppoll": ["EINTR:when=1+", "EINTR:when=3"],
    "clone": ["EAGAIN:when=1", "EAGAIN:when=2"],
    "openat": ["EMFILE:when=15+", "EMFILE:when=24+", "EMFILE:when=30+", "ENFILE:when=35+"],
    "mmap": ["ENOMEM:when=22+", "ENOMEM:when=26+"],
    "pidfd_open": ["ENOSYS:when=1+"],
    "perf_event_open": ["EMFILE:when=2+", "ENOMEM:when=1+"],
}


@pytest.mark.parametrize("call", CALLS)
def test_s4_a_quota_or_another_failure_of_our_own_calls(inferscope: Command, target: Target, call: str) -> None:
    """The recorder's own system calls fail; the program runs as ever, or was never started (125)."""
    if shutil.which("strace") is None:
        pytest.fail("strace is not installed; run make setup")
    trace = inferscope.folder / "inferscope.isc"
    for failure in CALLS[call]:
        command = inferscope.arguments(("run", "--", target("marks.c"), str(MARKS)))
        inject = ["strace", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:error={failure}"]
        process = subprocess.Popen(
            [*inject, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=inferscope.environment, cwd=inferscope.folder, start_new_session=True,
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            pytest.fail(f"{call} {failure}: hangs")
        if "strace: " in err:
            pytest.skip("strace may not watch here")
        theirs = [line for line in err.splitlines() if not line.startswith("inferscope:")]
        assert theirs == [], f"{call} {failure}: {err}"
        if process.returncode == 125:
            assert out == "", f"{call} {failure}"
            # What an attempt before this one left behind may be told of as well.
            ours = [line for line in err.splitlines() if "an earlier recorder was killed" not in line]
            assert len(ours) == 1 and ours[0].startswith("inferscope: "), err
            assert not trace.exists()
            continue
        assert (process.returncode, out) == (0, f"{1 + 3 * MARKS}\n"), f"{call} {failure}: {err}"
        readable(inferscope, trace)
        trace.unlink()
        (inferscope.folder / "report.json").unlink(missing_ok=True)
    # Without descriptors a session cannot even be taken away; the next command does it, when it is old enough.
    for session in sessions_of(inferscope.folder):
        os.utime(session, (0, 0))
    inferscope("doctor", plain=True)
    assert sessions_of(inferscope.folder) == []


# ---- nobody reads what we say -----------------------------------------------------------------


def test_s4_a_closed_stderr_is_not_the_programs_end(inferscope: Command) -> None:
    """A pipe without a reader, no stderr at all, and a full one: the exit code is the program's."""
    command = " ".join(inferscope.arguments(("run", "--force", "--", "sh", "-c", "'sleep 0.2; exit 7'")))
    for line in (
        f"{command} 2> >(exec true)",
        f"set -o pipefail; {command} 2>&1 | exec true",
        f"{command} 2>&-",
        f"{command} 2>/dev/full",
    ):
        done = subprocess.run(["bash", "-c", line], env=inferscope.environment, timeout=60, check=False)
        assert done.returncode == 7, line


def test_s4_a_closed_stdout_ends_the_program_and_only_it(inferscope: Command) -> None:
    """The signal of a closed pipe is the program's own, not one that we changed."""
    command = " ".join(inferscope.arguments(("run", "--force", "--", "yes")))
    line = f"{command} 2>/dev/null | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], env=inferscope.environment, capture_output=True, timeout=60, check=False
    )
    assert done.stdout == b"y\n141\n"
    assert (inferscope.folder / "report.json").exists()


def test_s4_a_folder_that_may_not_be_written_is_told_before_the_start(inferscope: Command, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    for option, name in (("--trace", "t.isc"), ("--report", "r.md")):
        if os.geteuid() == 0:
            path = Path("/proc/self") / name  # where not even root may make files
        else:
            closed.chmod(0o500)
            path = closed / name
        run = inferscope("run", option, path, "--", "sh", "-c", "echo ran")
        assert (run.returncode, run.stdout) == (125, "")
        assert len(run.ours) == 1
        assert name in run.ours[0]


def test_s4_a_folder_that_vanishes_while_the_program_runs(inferscope: Command, target: Target, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"rm -rf {gone}; exec {target('marks.c')} 1000"
    run = inferscope("run", "--trace", gone / "t.isc", "--report", gone / "r.json", "--", "sh", "-c", script)
    assert (run.returncode, run.stdout, run.theirs) == (0, "3001\n", "")
    assert len(run.ours) == 1
    assert "No such file or directory" in run.ours[0]


# ---- limits of file sizes -----------------------------------------------------------------------


def under_limit(bytes: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes, bytes))


@pytest.mark.parametrize("kilobytes", [0, 1, 64, 1024, 2048, 4096])
def test_s4_a_limit_of_file_sizes_is_met_without_a_signal(
    inferscope: Command, target: Target, tmp_path: Path, kilobytes: int
) -> None:
    """The recorder writes under the caller's limit: an error, never SIGXFSZ, and the program's exit code."""
    command = inferscope.arguments(("run", "--", target("marks.c"), "150000"))
    with (tmp_path / "out").open("w") as out:
        done = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=inferscope.environment, cwd=tmp_path, preexec_fn=under_limit(kilobytes << 10),
        )  # fmt: skip
        stdout, stderr = done.communicate(timeout=60)
        out.write(stderr)
    if done.returncode == 125:
        assert kilobytes <= 1024
        assert stdout == ""
        assert stderr.count("\n") == 1
        return
    assert (done.returncode, stdout) == (0, "450001\n"), stderr
    readable(inferscope, tmp_path / "inferscope.isc")


def test_s4_the_programs_own_limit_is_met_by_the_program_alone(inferscope: Command, target: Target) -> None:
    """A program under a limit gets SIGXFSZ for its own writes, and none for our memory."""
    for bytes in (1, 4096, 8192, 100_000, 1 << 20):
        run = inferscope("run", *QUIET, "--follow", "all", "--force", "--", target("crowd.c"), "limit", str(bytes))
        assert (run.returncode, run.stdout, run.theirs) == (0, "ours 0, its own 1\n", "")
        overhead = run.report.overhead
        # Under a small limit there is no memory for events; then the report says so.
        processes = run.report.program.processes
        expected = sum(200_000 if i == 0 else 1000 for i, p in enumerate(processes) if p.traced)
        assert overhead.events + overhead.lost == expected
        assert all(p.traced for p in processes) or "no shared memory could be opened" in str(run.report.warnings)
        assert all(p.traced for p in processes) == (bytes >= 1 << 20)


def test_s4_a_python_under_a_limit_does_as_without_us(inferscope: Command, python: str) -> None:
    code = "try: open('g', 'wb').write(b'x' * 5000000)\nexcept OSError as error: print(error.errno)"
    done = []
    for command in ([python, "-c", code], inferscope.arguments(("run", "--quiet", "--python", python, "-c", code))):
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, env=inferscope.environment,
            cwd=inferscope.folder, preexec_fn=under_limit(4 << 20),
        )  # fmt: skip
        done.append((ran.returncode, ran.stdout, ran.stderr))
    assert done[1] == done[0]
