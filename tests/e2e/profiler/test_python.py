"""The profiler in Python programs, and the classes around it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timed

ROOT = Path(__file__).resolve().parents[3]
Program = Callable[..., Any]
Shares = Callable[[dict[str, Any], set[str]], dict[str, float]]


def test_D4_known_shares_are_found(
    program: Program, python: str, tmp_path: Path, shares: Shares, count: Callable[[int, int], int]
) -> None:
    rounds, within = count(200, 1000), count(3, 2)
    state = program(
        python,
        f"""
        profiler = inferscope.CPUProfiler()
        assert profiler.start() and profiler.start()
        thread = threading.Thread(target=work, args=({rounds},))
        thread.start(); thread.join()
        work({rounds})
        assert profiler.state()["running"]
        assert profiler.stop() and profiler.stop()
        profiler.write_json("profile.json"); profiler.write_summary("profile.txt")
        say(**profiler.state())
        """,
    )
    profile = json.loads((tmp_path / "profile.json").read_text())
    found = shares(profile, {"seventy", "thirty"})
    assert found == {"seventy": pytest.approx(70, abs=within), "thirty": pytest.approx(30, abs=within)}
    assert state["note"] is None and state["other"] == 0 and not state["running"]
    by_thread: dict[int, int] = {}
    for stack in profile["stacks"]:
        by_thread[stack["thread_id"]] = by_thread.get(stack["thread_id"], 0) + stack["count"]
    assert sorted(by_thread.values())[-2:] == [pytest.approx(10 * rounds, rel=0.02)] * 2
    # One stack of both, root first: main of the interpreter, the module, its functions, what they call in C.
    whole = [f["symbol"] for f in max(profile["stacks"], key=lambda s: ("_start" in str(s), s["count"]))["frames"]]
    assert "Py_BytesMain" in whole
    assert whole.index("Py_BytesMain") < whole.index("<module>") < whole.index("work") < whole.index("spin")
    assert not [name for name in whole if "_PyEval_EvalFrame" in name]
    lines = {f["line"] for s in profile["stacks"] for f in s["frames"] if f["symbol"] == "spin"}
    text = (tmp_path / "program.py").read_text().splitlines()
    assert lines and all("thread_time_ns" in text[line - 1] or "range(500)" in text[line - 1] for line in lines)


def test_h5_starts_and_stops_leave_nothing_behind(
    program: Program, python: str, count: Callable[[int, int], int]
) -> None:
    found = program(
        python,
        """
        def rss():
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
        def facts():
            return rss(), len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
        profiler = inferscope.CPUProfiler()
        for i in range(CYCLES):
            if i == 100: before = facts()
            assert profiler.start(); spin(100_000); assert profiler.stop()
        after = facts()
        say(growth=after[0] - before[0], fds=after[1] - before[1], threads=after[2] - before[2])
        """.replace("CYCLES", str(count(1000, 10_000))),
        timeout=count(120, 1200),
    )
    assert found["growth"] < 1 << 20
    assert (found["fds"], found["threads"]) == (0, 0)


def test_a_decorated_function_leaves_its_files_and_its_report(program: Program, python: str, tmp_path: Path) -> None:
    found = program(
        python,
        """
        import asyncio, contextlib, io

        @inferscope.profile_function(output_dir="out")
        def fibonacci(n):
            if n == 12: spin(30_000_000)
            return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

        @inferscope.profile_function(output_dir="out", report=False)
        async def answer(n):
            await asyncio.sleep(0.01); spin(20_000_000); return n

        @inferscope.profile_function(output_dir="out", report=False)
        def count(n):
            for i in range(n):
                spin(5_000_000); yield i

        class Model:
            @inferscope.profile_function(output_dir="out", report=False)
            def forward(self): raise KeyError("mine")

        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            value = fibonacci(12)
        try:
            Model().forward()
        except KeyError as error:
            raised = repr(error)
        async def both(): return await asyncio.gather(answer(1), answer(2))
        say(value=value, said=said.getvalue(), raised=raised, both=asyncio.run(both()), counted=list(count(3)),
            name=fibonacci.__name__, files=sorted(os.listdir("out")),
            running=inferscope.CPUProfiler().state()["running"])
        """,
    )
    assert (found["value"], found["raised"], found["both"]) == (144, "KeyError('mine')", [1, 2])
    assert (found["counted"], found["name"], found["running"]) == ([0, 1, 2], "fibonacci", False)
    names = ("Model.forward", "answer", "count", "fibonacci")
    assert found["files"] == [f"{name}.{end}" for name in names for end in ("folded", "json", "txt")]
    assert found["said"].count("samples, one per 1 ms of CPU time") == 1
    assert "fibonacci" in found["said"] and "nstructions" in found["said"] and "Memory in use" in found["said"]
    assert "spin" in (tmp_path / "out" / "fibonacci.folded").read_text()
    # Two at once: the second is part of the first.
    samples = json.loads((tmp_path / "out" / "answer.json").read_text())["total_samples"]
    assert 12 <= samples <= 60


def test_a_profile_that_cannot_be_saved_is_a_warning_and_the_result_stands(
    program: Program, python: str, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file")
    found = program(
        python,
        """
        @inferscope.profile_function(output_dir="taken")
        def double(n): return 2 * n
        say(value=double(4))
        """,
        stderr="the profile of double is not saved",
    )
    assert found["value"] == 8


def test_errors_are_errors(program: Program, python: str) -> None:
    found = program(
        python,
        """
        said = {}
        def attempt(name, call):
            try:
                said[name] = repr(call())
            except Exception as error:
                said[name] = type(error).__name__
        attempt("library", lambda: inferscope.CPUProfiler("/nonexistent/libinferscope.so"))
        attempt("other library", lambda: inferscope.CPUProfiler("libc.so.6"))
        attempt("interval", lambda: inferscope.CPUProfiler(interval_us=1))
        attempt("native", lambda: inferscope.CPUProfiler(native="some"))
        profiler = inferscope.CPUProfiler()
        attempt("before", lambda: profiler.write_json("x.json"))
        attempt("stop", profiler.stop)
        profiler.start(); spin(10_000_000); profiler.stop()
        attempt("folder", lambda: profiler.write_json("/nonexistent/x.json"))
        attempt("again", lambda: profiler.write_json("x.json"))
        say(**said)
        """,
    )
    assert found == {
        "library": "Error",
        "other library": "Error",
        "interval": "ValueError",
        "native": "ValueError",
        "before": "OSError",
        "stop": "True",
        "folder": "FileNotFoundError",
        "again": "None",
    }


def test_another_library_can_be_named(program: Program, python: str, site: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    shutil.copy(site / "inferscope" / "libinferscope.so", other)
    shutil.copy(site / "inferscope" / "libinferscope_rt.so", other)
    found = program(
        python,
        f"""
        profiler = inferscope.CPUProfiler({str(other / "libinferscope.so")!r})
        profiler.start(); work(5); profiler.stop(); profiler.write_json("profile.json")
        say(mapped={str(other)!r} in open("/proc/self/maps").read(), **profiler.state())
        """,
    )
    assert found["mapped"] and found["samples"] >= 45 and found["note"] is None
    assert "seventy" in (tmp_path / "profile.json").read_text()


def test_a_fork_child_runs_on_without_a_profile(program: Program, python: str, tmp_path: Path) -> None:
    found = program(
        python,
        """
        import warnings
        warnings.simplefilter("ignore")
        with inferscope.profiler_context("whole", ".", report=False) as profiler:
            work(3)
            child = os.fork()
            if child == 0:
                work(5)
                os._exit(10 if profiler.state()["running"] else 0)
            status = os.waitpid(child, 0)[1]
            work(3)
        say(status=status, samples=profiler.state()["samples"])
        """,
    )
    assert found["status"] == 0
    assert found["samples"] == pytest.approx(60, abs=15)


def test_H3_faulthandler_and_signals_of_the_program(program: Program, python: str) -> None:
    found = program(
        python,
        """
        import faulthandler, signal
        seen = []
        signal.signal(signal.SIGURG, lambda *a: seen.append("urgent"))
        signal.signal(signal.SIGPROF, lambda *a: seen.append("prof"))
        faulthandler.enable()
        profiler = inferscope.CPUProfiler()
        profiler.start()
        signal.raise_signal(signal.SIGURG); work(5); signal.raise_signal(signal.SIGPROF)
        profiler.stop()
        signal.raise_signal(signal.SIGURG); spin(1_000_000)
        # A crash is still the program's: a child shows how it ends.
        child = os.fork()
        if child == 0:
            os.close(2)
            profiler.start(); spin(5_000_000)
            import ctypes; ctypes.string_at(0)
        status = os.waitpid(child, 0)[1]
        say(seen=seen, samples=profiler.state()["samples"], status=status)
        """,
    )
    assert found["seen"] == ["urgent", "prof", "urgent"]
    assert found["samples"] >= 45
    assert found["status"] & 0x7F == 11


def test_native_frames_can_be_left_out(program: Program, python: str, tmp_path: Path) -> None:
    program(
        python,
        """
        for native in ("off", "leaf"):
            profiler = inferscope.CPUProfiler(native=native, interval_us=500)
            profiler.start(); work(5); profiler.stop(); profiler.write_json(native + ".json")
        say()
        """,
    )
    off = json.loads((tmp_path / "off.json").read_text())
    leaf = json.loads((tmp_path / "leaf.json").read_text())
    assert off["interval_us"] == leaf["interval_us"] == 500
    names = {frame["symbol"] for stack in off["stacks"] for frame in stack["frames"]}
    assert {"<module>", "work", "spin"} <= names and "Py_BytesMain" not in names
    assert "Py_BytesMain" not in {frame["symbol"] for stack in leaf["stacks"] for frame in stack["frames"]}


HOSTILE = r"""
names = ["a;b 12", "new\nline", "tab\tbed", 'quo"te', "back\\slash", "\x1b[2J", "\u202egnp", "\u2028", "<b>", "é漢"]
code = compile("def f():\n    spin(15_000_000)\n", "evil;file \n.py", "exec")
for name in names:
    space = {"spin": spin}
    exec(code, space)
    function = space["f"]
    function.__code__ = function.__code__.replace(co_name=name, **QUALIFIED(name))
    functions.append(function)
"""


def test_X3_hostile_names_stay_names(program: Program, python: str, tmp_path: Path) -> None:
    program(
        python,
        "functions = []\nQUALIFIED = lambda n: {'co_qualname': n} if sys.version_info >= (3, 11) else {}\n"
        + HOSTILE
        + """
profiler = inferscope.CPUProfiler()
profiler.start()
for function in functions: function()
profiler.stop()
profiler.write_json("profile.json"); profiler.write_summary("profile.txt")
inferscope.FlameGraphConverter("profile.json").save("profile.folded")
import io
page = io.StringIO()
report = inferscope.ProfileReport("profile.json", profiler.state(), page)
report.print_summary(); report.print_hot_paths(); report.print_memory_stats(); report.print_instruction_stats()
open("page.txt", "w", encoding="utf-8").write(page.getvalue())
say(names=names)
""",
    )
    profile = json.loads((tmp_path / "profile.json").read_text(encoding="utf-8"))
    names = {frame["symbol"] for stack in profile["stacks"] for frame in stack["frames"]}
    assert {"a;b 12", "new\nline", 'quo"te', "back\\slash", "\x1b[2J", "\u202egnp", "é漢"} <= names
    lines = (tmp_path / "profile.folded").read_text(encoding="utf-8").split("\n")[:-1]
    assert all(re.fullmatch(r"\S+ \d+", line) for line in lines)
    assert any("a:b_12" in line for line in lines)
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == profile["total_samples"]
    for page in ("profile.txt", "page.txt"):
        text = (tmp_path / page).read_text(encoding="utf-8")
        assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2028]", text), page


def test_flamegraph_pl_draws_it(program: Program, python: str, tmp_path: Path) -> None:
    drawer = shutil.which("flamegraph.pl") or "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
    if not Path(drawer).exists():
        pytest.skip("flamegraph.pl is not here: install libdevel-nytprof-perl")
    program(python, "with inferscope.profiler_context('x', report=False): work(5)\nsay()\n")
    done = subprocess.run([drawer, str(tmp_path / "x.folded")], capture_output=True, text=True, timeout=60, check=True)
    assert "<svg" in done.stdout and "seventy" in done.stdout and "Py_BytesMain" in done.stdout
    assert "ERROR" not in done.stdout + done.stderr


def test_the_demo_runs(site: Path, tmp_path: Path, clean: dict[str, str], python: str) -> None:
    command = [python, str(ROOT / "scripts" / "run_profiler_demo.py"), "--output", str(tmp_path / "demo")]
    done = subprocess.run(
        command, env={**clean, "PYTHONPATH": str(site)}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("alone", "threads"):
        for end in ("json", "txt", "folded"):
            assert (tmp_path / "demo" / f"{name}.{end}").stat().st_size > 0
    assert "score" in done.stdout and "samples, one per 1 ms" in done.stdout
    threads = {s["thread_id"] for s in json.loads((tmp_path / "demo" / "threads.json").read_text())["stacks"]}
    assert len(threads) >= 4


def test_every_python_that_is_found(program: Program, tmp_path: Path) -> None:
    finder = [sys.executable, str(ROOT / "tools" / "pythons.py"), "3.9", "3.10", "3.12"]
    others = subprocess.run(finder, capture_output=True, text=True, check=True).stdout.split()
    if not others:
        pytest.skip("no other Python is here")
    for python in others:
        state = program(
            python,
            """
            profiler = inferscope.CPUProfiler()
            profiler.start(); work(40); profiler.stop(); profiler.write_json("profile.json")
            say(**profiler.state())
            """,
        )
        assert state["note"] is None, (python, state)
        profile = json.loads((tmp_path / "profile.json").read_text())
        seventy = sum(s["count"] for s in profile["stacks"] if '"seventy"' in json.dumps(s))
        assert 100 * seventy / profile["total_samples"] == pytest.approx(70, abs=10), python
        assert '"Py_BytesMain"' in (tmp_path / "profile.json").read_text(), python
