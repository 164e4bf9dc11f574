"""The program behaves as without us: exit codes, signals, descriptors, environment, and a killed recorder (H6)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command
    from tests.e2e.launch.launching import DEADLINE, Child, eventually, members, stat_fields
else:
    from launching import DEADLINE, Child, eventually, members, stat_fields

Wrap = list[str]


def output(command: list[str], **options: Any) -> tuple[int, bytes, bytes]:
    done = subprocess.run(command, capture_output=True, timeout=DEADLINE, check=False, **options)
    theirs = b"".join(line for line in done.stderr.splitlines(True) if not line.startswith(b"inferscope:"))
    return done.returncode, done.stdout, theirs


def same(wrap: Wrap, command: list[str], **options: Any) -> tuple[int, bytes, bytes]:
    """Runs it bare and launched, and gives what both did."""
    bare = output(command, **options)
    assert output(wrap + command, **options) == bare
    return bare


# ---- exit codes and ends ------------------------------------------------------------


def test_exit_codes_are_the_programs(wrap: Wrap, count: Callable[[int, int], int]) -> None:
    step = count(51, 1)
    for code in [1, 2, 77, *range(0, 256, step)]:
        assert same(wrap, ["sh", "-c", f"exit {code}"])[0] == code


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "ABRT", "KILL", "SEGV", "PIPE", "TERM", "USR1", "BUS", "FPE"])
def test_death_by_a_signal_is_seen_as_such(wrap: Wrap, name: str) -> None:
    number = getattr(signal, f"SIG{name}").value
    assert same(wrap, ["sh", "-c", f"kill -{name} $$"])[0] == -number
    shell = ["bash", "-c", '"$@"; echo $?', "-"]
    assert output([*shell, *wrap, "sh", "-c", f"kill -{name} $$"])[1] == f"{128 + number}\n".encode()


def test_a_program_that_cannot_start_is_126_or_127(wrap: Wrap, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    for program, code in (("no-such-program", 127), ("/nonexistent/x", 127), (str(plain), 126), ("/", 126)):
        done = subprocess.run([*wrap, program], capture_output=True, text=True, timeout=DEADLINE, check=False)
        assert done.returncode == code
        assert done.stdout == ""
        assert done.stderr.startswith(f"inferscope: cannot start {program}: ")
        assert done.stderr.count("\n") == 1


def test_what_a_program_sends_to_its_parent_does_not_hit_it(wrap: Wrap) -> None:
    """For longer than a signal that is passed on waits."""
    code, out, _ = output([*wrap, "sh", "-c", "kill -USR1 $PPID; sleep 0.5; echo on"])
    assert (code, out) == (0, b"on\n")


def test_quick_starts_leave_nothing_behind(wrap: Wrap, count: Callable[[int, int], int]) -> None:
    for _ in range(count(25, 100)):
        process = subprocess.Popen([*wrap, "true"], start_new_session=True)
        assert process.wait(DEADLINE) == 0
        assert members(process.pid) == []


# ---- what the program sees ----------------------------------------------------------


def test_descriptors_are_the_same(wrap: Wrap) -> None:
    read, write = os.pipe()
    try:
        listing = f"cd /proc/$$/fd && echo * && readlink 0 {read} {write}"
        assert same(wrap, ["sh", "-c", listing], pass_fds=[read, write], stdin=subprocess.DEVNULL)[0] == 0
        names = ["sh", "-c", "cd /proc/$$/fd && echo *"]
        for closed in ("", "<&-", ">&-", "2>&-", "<&- 2>&-"):
            bare = output(["sh", "-c", f'"$@" {closed}', "-", *names], pass_fds=[read])
            assert output(["sh", "-c", f'"$@" {closed}', "-", *wrap, *names], pass_fds=[read]) == bare
    finally:
        os.close(read)
        os.close(write)


def test_the_environment_is_the_same_but_for_ours(wrap: Wrap) -> None:
    ours = {b"INFERSCOPE_SESSION", b"LD_PRELOAD"}

    def environment(prefix: Wrap) -> dict[bytes, bytes]:
        env = {**os.environ, "ODD": "a\nb=c", "EMPTY": ""}
        entries = output([*prefix, "env", "-0"], env=env)[1].split(b"\0")
        pairs = (entry.partition(b"=") for entry in entries if entry)
        return {name: value for name, _, value in pairs if name not in ours}

    assert environment(wrap) == environment([])


def caught(text: bytes) -> tuple[bytes, int]:
    """What /proc/PID/status says apart from SigCgt, and that."""
    lines = text.splitlines()
    mask = next(line for line in lines if line.startswith(b"SigCgt"))
    return b"".join(line for line in lines if line != mask), int(mask.split()[1], 16)


def test_mask_and_dispositions_are_the_same(wrap: Wrap) -> None:
    """The handlers that sampling needs are seen from outside; the program's own eyes do not meet them."""
    status = ["grep", "-E", "^(SigBlk|SigIgn|SigCgt|Umask|NoNewPrivs|Seccomp):", "/proc/self/status"]
    ours = sum(1 << number - 1 for number in (signal.SIGURG, signal.SIGSEGV, signal.SIGBUS))
    more = ours if "run" in wrap else 0
    look = "import signal; print([str(signal.getsignal(n)) for n in range(1, 32)])"

    def odd() -> None:
        os.umask(0o123)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])

    for options in ({"preexec_fn": odd, "restore_signals": False}, {"restore_signals": True}):
        bare, launched = output(status, **options), output(wrap + status, **options)
        assert bare[0] == launched[0] == 0
        (rest, mask), (their_rest, their_mask) = caught(bare[1]), caught(launched[1])
        assert rest == their_rest
        assert their_mask == mask | more
        assert same(wrap, [sys.executable, "-S", "-c", look], **options)[0] == 0


def test_limits_priority_and_folder_are_the_same(wrap: Wrap, tmp_path: Path) -> None:
    look = "ulimit -a; nice; umask; pwd; ps -o pgid=,sid=,tty= -p $$ | tr -d ' ' | sed s/[0-9][0-9]*/N/"
    bare = output(["bash", "-c", f"ulimit -n 200 -c 0; nice -n 3 bash -c '{look}'"], cwd=tmp_path)
    words = " ".join(wrap)
    assert output(["bash", "-c", f"ulimit -n 200 -c 0; nice -n 3 {words} bash -c '{look}'"], cwd=tmp_path) == bare


def test_group_and_session_are_kept(wrap: Wrap) -> None:
    with Child([*wrap, "sh", "-c", "echo ready $$; cat /proc/$$/stat; exec sleep 100"]) as child:
        program = child.ready()
        assert stat_fields(program)[2:4] == [str(child.pid), str(child.pid)]
        assert stat_fields(program)[1] == str(child.pid)


def test_standard_streams_are_left_alone(wrap: Wrap) -> None:
    data = bytes(range(256)) * 4096
    assert same(wrap, ["cat"], input=data)[1] == data
    assert same(wrap, ["sh", "-c", "echo out; echo err >&2; exit 3"])[0] == 3


def test_a_closed_pipe_ends_the_program_as_bare(wrap: Wrap) -> None:
    line = '"$@" | head -1; echo ${PIPESTATUS[0]}'
    bare = output(["bash", "-c", line, "-", "yes"])
    assert bare[1] == b"y\n141\n"
    assert output(["bash", "-c", line, "-", *wrap, "yes"]) == bare
    ignored = 'trap "" PIPE; "$@" 2>/dev/null | head -1; echo ${PIPESTATUS[0]}'
    bare = output(["bash", "-c", ignored, "-", "yes"])
    assert bare[1] == b"y\n1\n"
    assert output(["bash", "-c", ignored, "-", *wrap, "yes"]) == bare


def test_a_pipeline_ends_when_the_program_lets_go_of_it(wrap: Wrap, tmp_path: Path) -> None:
    """Neither recorder nor watcher holds the program's stdout open."""
    fifo = tmp_path / "go-on"
    os.mkfifo(fifo)
    with Child([*wrap, "sh", "-c", f"echo out; exec >&-; read x <{fifo}"]) as child:
        assert child.line() == "out"
        assert child.line() == ""
        assert child.process.poll() is None
        fifo.write_text("x\n")
        assert child.process.wait(DEADLINE) == 0


def test_a_script_that_is_not_there_is_pythons_to_tell(inferscope: Command, python: str) -> None:
    for target in (["missing.py"], ["-m", "no_such_module_x"], ["-c", "raise SystemExit(9)"], [str(inferscope.folder)]):
        bare = subprocess.run([python, *target], capture_output=True, text=True, check=False, cwd=inferscope.folder)
        ours = inferscope("run", "--quiet", "--no-report", "--python", python, *target)
        assert (ours.returncode, ours.stdout, ours.theirs) == (bare.returncode, bare.stdout, bare.stderr)


# ---- signals -------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 3, 6, 10, 12, 13, 14, 15, 18, 20, 23, 28, 34, 50])
def test_a_signal_to_us_reaches_the_program_once(wrap: Wrap, target: Callable[[str], str], number: int) -> None:
    with Child([*wrap, target("signal_log.c")]) as child:
        child.ready()
        os.kill(child.pid, number)
        assert child.until_end() == [f"got {number} user 0"]
        assert child.process.returncode == 0


def repeated(wrap: Wrap, program: str, times: int, send: Callable[[Child, int], None], number: int) -> list[int]:
    """How often the program got the signal, in each of so many runs."""
    counts = []
    for _ in range(times):
        with Child([*wrap, program]) as child:
            send(child, child.ready())
            counts.append(child.until_end().count(f"got {number} user 0"))
    return counts


def test_a_signal_to_the_group_reaches_the_program_once(
    wrap: Wrap, target: Callable[[str], str], count: Callable[[int, int], int]
) -> None:
    for number in (15, 10, 40):

        def send(child: Child, _program: int, number: int = number) -> None:
            os.killpg(child.pid, number)

        got = repeated(wrap, target("signal_log.c"), count(14, 60), send, number)
        assert got == [1] * len(got)


def test_a_signal_to_each_process_in_turn_reaches_the_program_once(
    wrap: Wrap, target: Callable[[str], str], count: Callable[[int, int], int]
) -> None:
    """As service managers do with all processes of a unit, and pkill with a pattern; in either order."""

    def each(order: Callable[[list[int]], Any]) -> Callable[[Child, int], None]:
        def send(child: Child, _program: int) -> None:
            for pid in order(members(child.pid)):
                os.kill(pid, signal.SIGTERM)

        return send

    for order in (list, reversed):
        got = repeated(wrap, target("signal_log.c"), count(10, 40), each(order), signal.SIGTERM)
        assert got == [1] * len(got)


def test_a_pattern_that_finds_the_program_finds_the_watcher_too(wrap: Wrap, target: Callable[[str], str]) -> None:
    program = target("signal_log.c")
    with Child([*wrap, program, "15", "10"]) as child:
        child.ready()
        deadline = time.monotonic() + 10  # it names itself when it first runs
        watchers: list[int] = []
        while not watchers and time.monotonic() < deadline:
            pids = members(child.pid)
            lines = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0") for pid in pids}
            watchers = [pid for pid in pids if lines[pid].startswith(b"isc-group")]
        assert len(watchers) == 1
        assert Path(f"/proc/{watchers[0]}/comm").read_text().strip() == "isc-group"
        assert lines[watchers[0]].replace(b"\0", b" ") == f"isc-group {program} 15 10".encode()
        watcher = Path(f"/proc/{watchers[0]}")
        assert [path.name for path in (watcher / "fd").iterdir()] == ["0"]
        assert (watcher / "cwd").readlink() == Path("/")
        assert stat_fields(watchers[0])[1] == str(child.pid)


def test_a_queued_value_arrives(wrap: Wrap, target: Callable[[str], str]) -> None:
    with Child([*wrap, target("signal_log.c")]) as child:
        child.ready()
        for value in (7, 8, 9):
            subprocess.run(["/bin/kill", "-q", str(value), "-s", "40", str(child.pid)], check=True)
        assert child.until_end() == [f"got 40 queue {value}" for value in (7, 8, 9)]


def test_a_program_that_signals_its_own_group_gets_it_once(wrap: Wrap, count: Callable[[int, int], int]) -> None:
    """A child then sends us signal 63, which comes after everything that we would pass on."""
    code = """
import os, signal
got, done = [], []
signal.signal(10, lambda *_: got.append(1))
signal.signal(63, lambda *_: done.append(1))
os.kill(0, 10)
os.system(f"kill -63 {os.getppid()}")
while not done:
    signal.sigtimedwait([], 0.01)
print(len(got))
"""
    for _ in range(count(5, 20)):
        assert output([*wrap, sys.executable, "-c", code], start_new_session=True)[1] == b"1\n"


def test_what_was_ignored_stays_ignored(wrap: Wrap) -> None:
    """nohup: neither we nor the program may end."""
    with Child(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "-", *wrap, "sh", "-c", "echo ready $$; exec sleep 100"]
    ) as child:
        program = child.ready()
        os.kill(child.pid, signal.SIGHUP)
        os.killpg(child.pid, signal.SIGHUP)
        os.kill(child.pid, signal.SIGTERM)
        assert child.process.wait(DEADLINE) == -signal.SIGTERM
        assert stat_fields(program) == []


def test_an_alarm_set_before_the_start_rings_in_the_program(wrap: Wrap, target: Callable[[str], str]) -> None:
    def alarm() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.5)

    with Child([*wrap, target("signal_log.c")], preexec_fn=alarm) as child:
        child.ready()
        assert child.line().startswith("got 14 ")
        assert child.until_end() == []


def test_timeout_ends_the_program_once(wrap: Wrap, target: Callable[[str], str]) -> None:
    """timeout signals its child, and then the group of both."""
    with Child(["timeout", "0.5", *wrap, target("signal_log.c"), "15"]) as child:
        program = child.ready()
        assert child.line() == "got 15 user 0"
        os.kill(program, 63)
        assert child.line() == "end"


# ---- the recorder is killed ------------------------------------------------------------


def test_h6_a_killed_recorder_leaves_the_program_running(
    wrap: Wrap, target: Callable[[str], str], count: Callable[[int, int], int], tmp_path: Path
) -> None:
    random.seed(6)
    program = target("steady.c")
    times, ran = count(20, 100), 0
    lines = [*map(str, range(150)), "end"]
    for i in range(times):
        out = tmp_path / f"out-{i}"
        process = subprocess.Popen([*wrap, program, str(out), "150"], start_new_session=True)
        moment = time.monotonic() + random.uniform(0, 0.15)
        while time.monotonic() < moment:
            pass
        process.kill()
        process.wait(DEADLINE)

        def over(session: int = process.pid) -> bool:
            left = [stat_fields(pid) for pid in members(session)]
            assert not any(fields[:1] in (["T"], ["t"]) for fields in left)
            return not [fields for fields in left if fields[:1] not in ([], ["Z"])]

        eventually(over, "the program's end")
        if out.exists():
            ran += 1
            assert out.read_text().split() == lines
    assert ran > times / 2
