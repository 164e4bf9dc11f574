"""The recorder: what was written is in the trace, whatever happens to either side."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SESSIONS = Path("/dev/shm")


def sessions(folder: Path) -> set[str]:
    """Session folders whose trace lies in this folder: others belong to somebody else."""
    found = set()
    for session in SESSIONS.glob(f"inferscope-{os.getuid()}-*"):
        try:
            control = (session / "control").read_bytes()[:4096]
        except OSError:
            continue
        if os.fsencode(folder) in control:
            found.add(session.name)
    return found


def until(condition, seconds: float = 20.0, what: str = "condition"):
    """Polls; returns what the condition gave."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    pytest.fail(f"{what}: not within {seconds} s")


def state_of(pid: int) -> str:
    """R, S, D: alive; Z or X: ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def test_marks_and_scopes_of_all_threads_are_stored_exactly(inferscope, target) -> None:
    run = inferscope("run", "--no-syscalls", "--no-memory", "--no-sample", "--", target("marks.c"), "1000", "4")
    report = run.report
    assert run.returncode == 0
    assert report.overhead.events + report.overhead.lost == int(run.stdout)
    step = next(s for s in report.scopes if s.name == "step")
    if report.overhead.lost == 0:
        assert step["count"] == 4000


def test_a_storm_is_accounted_for_to_the_last_event(inferscope, target, count) -> None:
    """D1 from end to end: produced = stored + lost."""
    run = inferscope(
        "run",
        "--no-sample",
        "--no-syscalls",
        "--no-memory",
        "--trace-size-mb",
        "8",
        "--",
        target("marks.c"),
        str(count(300_000, 5_000_000)),
        "3",
        timeout=300,
    )
    overhead = run.report.overhead
    assert overhead.events + overhead.lost == int(run.stdout)
    assert run.trace.stat().st_size <= 8 << 20


def test_nothing_is_left_behind(inferscope, target) -> None:
    inferscope("run", "--", target("marks.c"), "10")
    assert not sessions(inferscope.folder)
    assert sorted(p.name for p in inferscope.folder.iterdir()) == ["inferscope.isc", "report.json"]


def test_a_trace_is_analysed_while_its_program_runs(inferscope, target) -> None:
    running = inferscope.start("run", "--", target("marks.c"), "2000", "1", "5000")
    trace = inferscope.folder / "inferscope.isc"
    try:

        def seen() -> bool:
            if not trace.exists():
                return False
            done = inferscope("analyze", trace, "--output", "live.json", "--force", plain=True)
            if done.returncode not in (0, 3) or not (inferscope.folder / "live.json").exists():
                return False
            live = json.loads((inferscope.folder / "live.json").read_text())
            return any(s["name"] == "step" and s["count"] > 50 for s in live["scopes"])

        until(seen, what="events in the live trace")
        assert running.poll() is None
    finally:
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=30)
    assert running.returncode == -signal.SIGTERM


def test_analyze_gives_byte_for_byte_what_run_gave(inferscope, target) -> None:
    run = inferscope("run", "--report", "a.md", "--report", "a.json", "--", target("marks.c"), "500", "2", plain=False)
    assert run.returncode == 0
    for ending in ("md", "json"):
        inferscope("analyze", run.trace, "--output", f"b.{ending}", plain=True)
        assert (inferscope.folder / f"a.{ending}").read_bytes() == (inferscope.folder / f"b.{ending}").read_bytes()


def test_s1_a_killed_program_leaves_a_whole_trace(inferscope, target, count) -> None:
    """S1: kill -9 of the target at random moments."""
    rng = random.Random(1)
    for _ in range(count(6, 100)):
        running = inferscope.start("run", "--", target("marks.c"), "10000000", "2", "20")
        trace = inferscope.folder / "inferscope.isc"
        pid = until(lambda recorder=running.pid: child_of(recorder), what="the program")
        time.sleep(rng.random() * 0.4)
        os.kill(pid, signal.SIGKILL)
        running.communicate(timeout=30)
        assert running.returncode == -signal.SIGKILL
        report = json.loads((inferscope.folder / "report.json").read_text())
        assert report["program"]["signal"] == 9
        assert any(
            "kill" in w["text"].lower() if isinstance(w, dict) else "kill" in w.lower() for w in report["warnings"]
        )
        trace.unlink()


def child_of(pid: int) -> int:
    """The program under this recorder, once it is past its exec; 0: not yet."""
    for task in Path("/proc").glob("[0-9]*"):
        try:
            stat = (task / "stat").read_text()
            program = str((task / "exe").readlink())
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[1]) == pid and "/marks" in program:
            return int(task.name)
    return 0


def test_a_killed_recorder_leaves_the_program_running_and_the_session_to_salvage(inferscope, target) -> None:
    """H6, and what comes after: the next command reads the rest."""
    running = inferscope.start(
        "run", "--no-sample", "--no-syscalls", "--no-memory", "--", target("marks.c"), "400", "1", "1000"
    )
    pid = until(lambda: child_of(running.pid), what="the program")
    time.sleep(0.1)
    running.kill()
    running.wait()
    assert Path(f"/proc/{pid}").exists()
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    assert state != "T"
    out, _ = running.communicate(timeout=30)  # the program holds stdout until it has ended
    assert out.strip() == "1201"
    assert sessions(inferscope.folder)
    done = inferscope("doctor", plain=True)
    assert not sessions(inferscope.folder), done.stdout + done.stderr
    report = inferscope("analyze", inferscope.folder / "inferscope.isc", "--output", "r.json", plain=True)
    facts = json.loads((inferscope.folder / "r.json").read_text())
    assert report.returncode in (0, 3)
    assert facts["overhead"]["events"] + facts["overhead"]["lost"] == 1201


@pytest.mark.parametrize("kb", [64, 200, 1000, 3000])
def test_s4_a_full_disk_harms_neither_the_program_nor_what_was_written(inferscope, target, tmp_path, kb: int) -> None:
    """S4."""
    if os.getuid() != 0:
        pytest.skip("mounting a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kb}k", "none", small], check=True)
    try:
        run = inferscope(
            "run", "--trace", small / "t.isc", "--no-report", "--", target("marks.c"), "200000", "2", timeout=120
        )
        assert run.returncode == 0
        assert run.stdout.strip() == "1200001"
        dump = inferscope("dump", small / "t.isc", plain=True)
        assert dump.returncode in (0, 3)
        errors = [line for line in run.ours if "No space left" in line]
        assert len(errors) <= 1
        if kb <= 64:
            assert len(errors) == 1
    finally:
        subprocess.run(["umount", small], check=True)


def test_s4_a_full_shared_memory_falls_back_and_says_so(inferscope, target, tmp_path) -> None:
    """S4: no room in /dev/shm."""
    if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("needs the right to make a mount namespace")
    script = (
        f"mount -t tmpfs -o size=1m none /dev/shm && exec {inferscope.path} run --no-sample --no-syscalls --no-memory "
        f"--trace {tmp_path}/t.isc --report {tmp_path}/r.json -- {target('marks.c')} 1000"
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env={k: v for k, v in inferscope.environment.items() if k != "XDG_RUNTIME_DIR"},
        cwd=tmp_path,
    )
    assert done.returncode == 0
    assert done.stdout.strip() == "3001"
    facts = json.loads((tmp_path / "r.json").read_text())
    assert facts["overhead"]["events"] + facts["overhead"]["lost"] == 3001
    assert "memory" in json.dumps(facts["warnings"])


def test_an_unwritable_path_is_found_out_before_the_program_starts(inferscope, tmp_path) -> None:
    run = inferscope("run", "--trace", "/proc/no/x.isc", "--", "sh", "-c", "echo ran")
    assert run.returncode == 125
    assert run.stdout == ""
    (tmp_path / "mine.md").write_text("my notes")
    run = inferscope("run", "--report", tmp_path / "mine.md", "--", "sh", "-c", "echo ran")
    assert run.returncode == 125
    assert run.stdout == ""
    assert "mine.md" in run.stderr and "--force" in run.stderr
    assert (tmp_path / "mine.md").read_text() == "my notes"


def test_delay_and_duration_cut_the_recording_and_nothing_else(inferscope, target) -> None:
    started = time.monotonic()
    run = inferscope("run", "--delay", "0.3", "--duration", "0.4", "--", target("marks.c"), "1000", "1", "1000")
    assert time.monotonic() - started > 1.0
    assert run.returncode == 0
    assert run.stdout.strip() == "3001"
    report = run.report
    step = next(s for s in report.scopes if s.name == "step")
    assert 20 < step["count"] < 700


def test_wait_children_records_what_outlives_the_program(inferscope, target) -> None:
    script = f"{target('marks.c')} 300 1 1000 & exit 0"
    run = inferscope("run", "--follow", "all", "--wait-children", "10", "--", "sh", "-c", script)
    assert run.returncode == 0
    step = next(s for s in run.report.scopes if s.name == "step")
    assert step["count"] == 300
    run = inferscope("run", "--follow", "all", "--force", "--", "sh", "-c", script)
    assert not any(s["count"] == 300 for s in run.report.scopes)


def test_follow_decides_who_is_traced_and_everyone_is_listed(inferscope, target) -> None:
    script = f"{target('marks.c')} 10; exit 0"
    traced = {}
    for mode in ("all", "python", "none"):
        run = inferscope("run", "--follow", mode, "--force", "--", "sh", "-c", script)
        traced[mode] = [p.traced for p in run.report.program.processes if "marks" in p.argv[0]]
    assert traced == {"all": [True], "python": [False], "none": [False]}


def test_x10_secrets_in_arguments_and_the_environment_are_not_recorded(inferscope) -> None:
    """X10."""
    command = ["sh", "-c", "sh -c true --api-key=sk-CHILDSECRET", "--token", "sk-ROOTSECRET"]
    run = inferscope("run", "--", *command, env={"HF_TOKEN": "sk-ENVSECRET", "PLAIN": "env-PLAINVALUE"})
    content = run.trace.read_bytes() + run.report_path.read_bytes() + "\n".join(run.dump()).encode()
    for secret in (b"ROOTSECRET", b"ENVSECRET", b"PLAINVALUE", b"CHILDSECRET "):
        assert secret not in content
    assert "--token" in run.report.program.argv


def test_x12_a_run_opens_no_socket_and_only_its_own_files(inferscope, target, tmp_path) -> None:
    """X12."""
    if shutil.which("strace") is None:
        pytest.fail("strace is not installed; run make setup")
    log = tmp_path / "calls"
    command = inferscope.arguments(("run", "--", target("marks.c"), "100"))
    subprocess.run(
        ["strace", "-f", "-qq", "-e", "trace=network,openat,open,creat", "-o", log, *command],
        check=True,
        capture_output=True,
        cwd=tmp_path,
        env=inferscope.environment,
        timeout=60,
    )
    text = log.read_text()
    assert not re.findall(r"\b(socket|connect|bind|sendto)\(", text)
    written = re.findall(r'open(?:at)?\([^"]*"([^"]+)", [^)\n]*(?:O_WRONLY|O_RDWR)', text)
    allowed = (str(tmp_path), "/dev/shm/inferscope-", "/dev/null", "/proc/self/")
    foreign = [name for name in written if name.startswith("/") and not name.startswith(allowed)]
    assert not foreign


def test_enabled_by_the_environment_a_python_traces_itself(inferscope, stage, tmp_path) -> None:
    """INFERSCOPE_ENABLED=1 without the command."""
    site = next(stage.glob("lib/python3*/site-packages"))
    code = "import os, subprocess, sys, inferscope; subprocess.run([sys.executable, '-c', 'pass']); print(os.getpid())"
    env = {
        **inferscope.environment,
        "INFERSCOPE_ENABLED": "1",
        "PYTHONPATH": str(site),
        "PATH": f"{stage}/bin:{os.environ['PATH']}",
    }
    boot = f"import site; site.addsitedir({str(site)!r}); "
    done = subprocess.run(
        [sys.executable, "-c", boot + code], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    trace = until(lambda: [p for p in tmp_path.glob("inferscope-*.isc")], what="the trace")[0]
    assert trace.name.endswith(f"-{done.stdout.strip()}.isc")

    until(lambda: "stats complete yes" in inferscope("dump", trace, plain=True).stdout, what="a complete trace")
    assert inferscope("analyze", trace, "--output", "r.json", plain=True).returncode == 0
    processes = json.loads((tmp_path / "r.json").read_text())["program"]["processes"]
    assert len(processes) >= 2


def test_a_thread_is_called_what_it_calls_itself(inferscope, tmp_path) -> None:
    source = tmp_path / "named.c"
    source.write_text('#include <inferscope/mark.h>\nint main(void) { isc_thread_name("serving"); return 0; }\n')
    include = Path(__file__).resolve().parents[2] / "include"
    subprocess.run(["cc", f"-I{include}", source, "-o", tmp_path / "named", "-ldl"], check=True)
    run = inferscope("run", "--", tmp_path / "named")
    assert [t.name for t in run.report.threads] == ["serving"]


def test_a_salvaged_session_counts_what_its_dead_recorder_had_lost(inferscope, target) -> None:
    """Produced = stored + lost over two recorders, too."""
    running = inferscope.start(
        "run",
        "--no-sample",
        "--no-syscalls",
        "--no-memory",
        "--trace-size-mb",
        "1",
        "--",
        target("marks.c"),
        "15000000",
        "2",
    )
    pid = until(lambda: child_of(running.pid), what="the program")
    time.sleep(0.1)
    os.kill(running.pid, signal.SIGSTOP)  # the pool runs over
    time.sleep(0.05)
    os.kill(running.pid, signal.SIGCONT)
    time.sleep(0.05)
    running.kill()
    # One that is killed over what ended threads have left could not say any more what that was.
    assert state_of(pid) in "RSD", "the program ended too soon"
    out, _ = running.communicate(timeout=60)
    until(lambda: not Path(f"/proc/{pid}/exe").exists(), what="the program's end")
    inferscope("doctor", plain=True)
    inferscope("analyze", inferscope.folder / "inferscope.isc", "--output", "r.json", plain=True)
    overhead = json.loads((inferscope.folder / "r.json").read_text())["overhead"]
    assert overhead["lost"] > 0
    assert overhead["events"] + overhead["lost"] == int(out)


def test_without_perf_times_come_from_the_scheduler_and_say_so(inferscope, tmp_path) -> None:
    """The fallback: on-CPU and waiting times are estimated, and the report says why and what to do."""
    sandbox = Path(os.environ.get("INFERSCOPE_BUILD", "build")).resolve() / "tests" / "unit" / "sandbox"
    code = "import time\nwhile time.process_time() < 0.6: pass\ntime.sleep(0.4)\n"
    command = inferscope.arguments(("run", "--python", sys.executable, "-c", code))
    denied = [str(sandbox), "--deny", "perf_event_open", "--", *command]
    done = subprocess.run(denied, env=inferscope.environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    main = max(report["threads"], key=lambda t: t["on_cpu_us"] or 0)
    assert main["estimated"]
    assert 400_000 < main["on_cpu_us"] < 700_000
    assert main["waiting_us"] > 250_000
    warning = next(w for w in report["warnings"] if w["id"] == "no_switches")
    assert "estimated" in warning["text"] and warning["remedy"]


def test_thousands_of_threads_are_accounted_for_in_a_small_trace(inferscope, target) -> None:
    """D1 where there is no room for an account of each thread."""
    run = inferscope(
        "run",
        "--no-sample",
        "--no-syscalls",
        "--no-memory",
        "--trace-size-mb",
        "4",
        "--",
        target("crowd.c"),
        "threads",
        "3000",
        timeout=120,
    )
    assert run.returncode == 0
    assert run.report.overhead.events + run.report.overhead.lost == 3000
    assert not any(w.id == "accounts_differ" for w in run.report.warnings)
