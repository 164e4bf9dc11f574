"""CpuCollector: windows in time over what this process does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program = Callable[..., Any]


def test_events_of_a_window_are_those_between_start_and_stop(program: Program, python: str) -> None:
    said = program(
        python,
        """
        b = inferscope.TraceBuffer(size_mb=8)
        c = inferscope.CpuCollector(b)
        states = [c.state.name]
        work(3)
        before = time.monotonic_ns()
        c.start(); c.start()
        states.append(c.state.name)
        work(5)
        t = threading.Thread(target=work, args=(2,)); t.start(); t.join()
        c.stop(); c.stop()
        after = time.monotonic_ns()
        states.append(c.state.name)
        work(100)
        rows = b.read_all()
        calls = [e for e in rows if e["event_type"] == "cpu_call" and e["name"] in ("work", "leaf")]
        mine = [e for e in calls if e["thread_id"] == threading.get_native_id()]
        first = next(e for e in calls if e["name"] == "work")
        say(states=states, names=names(rows), first=first, rows=len(rows), stats=c.get_stats(),
            inside=all(before - 1e5 <= e["start_ns"] <= e["end_ns"] <= after + 1e5 for e in rows),
            exact=all(e["start_us"] == e["start_ns"] // 1000 and e["end_us"] == e["end_ns"] // 1000 for e in rows),
            sorted=rows == sorted(rows, key=lambda e: e["start_ns"]),
            nested=all(mine[0]["start_ns"] <= e["start_ns"] and e["end_ns"] <= mine[0]["end_ns"] for e in mine),
            local=names(c.get_thread_local_buffer())["leaf"], pid=os.getpid(), file=__file__,
            line=work.__code__.co_firstlineno)
        """,
    )
    assert said["states"] == ["Idle", "Collecting", "Finalized"]
    assert (said["names"]["work"], said["names"]["leaf"]) == (2, 7)
    first = said["first"]
    assert (first["event_type"], first["name"], first["file"]) == ("cpu_call", "work", said["file"])
    assert (first["line"], first["process_id"], first["metadata"]) == (said["line"], said["pid"], None)
    assert said["inside"] and said["exact"] and said["sorted"] and said["nested"]
    stats = said["stats"]
    assert (stats["events"], stats["lost"], stats["threads"], stats["reason"]) == (said["rows"], 0, 2, None)
    assert said["local"] == 5


def test_windows_come_again_overlap_and_nest(program: Program, python: str) -> None:
    said = program(
        python,
        """
        a, b = inferscope.TraceBuffer(size_mb=8), inferscope.TraceBuffer(size_mb=8)
        ca, cb = inferscope.CpuCollector(a), inferscope.CpuCollector(b)
        seen = []
        for n in (1, 2, 3):
            ca.start(); work(n); ca.stop(); work(50)
            seen.append(names(a.read_all())["leaf"]); a.clear()
        ca.start(); work(1); cb.start(); work(2); ca.stop(); work(4); cb.stop(); work(50)
        say(seen=seen, a=names(a.read_all())["leaf"], b=names(b.read_all())["leaf"])
        """,
    )
    assert said == {"seen": [1, 2, 3], "a": 3, "b": 6}


def test_nothing_stays_after_stop(program: Program, python: str) -> None:
    """The hooks are really gone: the mechanism is as it was, and calls cost what they cost before."""
    said = program(
        python,
        """
        def cost():
            best = 1e9
            for _ in range(7):
                t = time.perf_counter()
                for _ in range(30000): leaf(1)
                best = min(best, time.perf_counter() - t)
            return best
        plain = cost()
        c = inferscope.CpuCollector(inferscope.TraceBuffer(size_mb=1), budget="off")
        ratios = []
        for _ in range(8):
            c.start(); work(100); c.stop()
            cost()
            ratios.append(cost() / plain)
            time.sleep(0.05)  # a machine that others use is slow for tenths of a second at a time
        events = None
        if hasattr(sys, "monitoring"):
            m = sys.monitoring
            events = [m.get_events(i) for i in range(6) if m.get_tool(i) == "inferscope"]
        say(ratio=min(ratios), events=events, threads=len(os.listdir("/proc/self/task")))
        """,
    )
    assert said["ratio"] < 1.25
    assert said["events"] in (None, [0])
    assert said["threads"] == 1


def test_settings_hold_for_each_window(program: Program, python: str) -> None:
    said = program(
        python,
        """
        class A:
            def __len__(self): return 3
        def one(): return len(A()), abs(-1)
        found = []
        for how in ({}, {"all_frames": True}, {}, {"c_calls": True}, {"all_frames": True}):
            b = inferscope.TraceBuffer(size_mb=8)
            c = inferscope.CpuCollector(b, **how)
            c.start(); one(); one(); c.stop()
            n = names(b.read_all())
            found.append([n["one"], n["__len__"], n["abs"]])
        say(found=found)
        """,
    )
    assert said["found"] == [[2, 0, 0], [2, 2, 0], [2, 0, 0], [2, 0, 2], [2, 2, 0]]


def test_a_window_that_was_governed_leaves_the_next_one_whole(program: Program, python: str) -> None:
    said = program(
        python,
        """
        c = inferscope.CpuCollector(inferscope.TraceBuffer(size_mb=64), budget=1)
        c.start()
        end = time.monotonic() + 0.4
        while time.monotonic() < end: work(1000)
        c.stop()
        skipped = c.get_stats()["skipped"]
        b = inferscope.TraceBuffer(size_mb=8)
        d = inferscope.CpuCollector(b)
        d.start(); work(20); d.stop()
        say(skipped=skipped, leaf=names(b.read_all())["leaf"], reason=d.get_stats()["reason"])
        """,
    )
    assert said["skipped"] > 0
    assert (said["leaf"], said["reason"]) == (20, None)


def test_any_object_with_enqueue_will_do_and_others_will_not(program: Program, python: str) -> None:
    said = program(
        python,
        """
        class Mine:
            def __init__(self): self.rows = []
            def enqueue(self, event): self.rows.append(event); return True
        class Broken:
            def enqueue(self, event): raise RuntimeError("no")
        m = Mine(); c = inferscope.CpuCollector(m); c.start(); work(2); c.stop()
        told = []
        for wrong in (None, 3, [], object(), type("E", (), {"enqueue": 3})()):
            try: inferscope.CpuCollector(wrong)
            except TypeError as e: told.append(str(e))
        for wrong in ({"budget": -1}, {"budget": "none"}):
            try: inferscope.CpuCollector(m, **wrong)
            except (ValueError, TypeError) as e: told.append(type(e).__name__)
        import warnings
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            d = inferscope.CpuCollector(Broken()); d.start(); work(1); d.stop()
        say(leaf=names(m.rows)["leaf"], told=len(told), state=d.state.name, reason=d.get_stats()["reason"],
            warned=len(seen))
        """,
    )
    assert (said["leaf"], said["told"], said["state"], said["warned"]) == (2, 7, "Finalized", 1)
    assert said["reason"] == "RuntimeError: no"


def test_without_the_command_the_program_goes_on_and_is_told_why(program: Program, python: str) -> None:
    said = program(
        python,
        """
        from inferscope import _command
        _command.find = lambda: None
        b = inferscope.TraceBuffer(size_mb=1)
        c = inferscope.CpuCollector(b)
        c.start(); work(2); c.stop()
        say(state=c.state.name, reason=c.get_stats()["reason"], rows=b.read_all(), local=c.get_thread_local_buffer())
        """,
    )
    assert (said["state"], said["rows"], said["local"]) == ("Idle", [], [])
    assert "pip install inferscope" in said["reason"]


def test_a_recorder_that_died_costs_its_patience_and_a_warning(program: Program, python: str) -> None:
    said = program(
        python,
        """
        import signal, warnings
        b = inferscope.TraceBuffer(size_mb=1)
        c = inferscope.CpuCollector(b)
        c.start()
        work(2)
        mine = [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]
        for pid in mine:
            try: line = open(f"/proc/{pid}/cmdline").read().split("\\0")
            except OSError: continue
            if "watch" in line and str(os.getpid()) in line and "--scratch" in line: os.kill(int(pid), signal.SIGKILL)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            t = time.monotonic(); c.stop(); took = time.monotonic() - t
        say(took=took, warned=[str(w.message) for w in seen], state=c.state.name)
        """,
    )
    assert said["took"] < 10
    assert said["state"] == "Finalized" and "does not answer" in said["warned"][0]


def test_in_a_fork_child_nothing_goes_on_and_its_own_window_works(program: Program, python: str) -> None:
    said = program(
        python,
        """
        b = inferscope.TraceBuffer(size_mb=8)
        c = inferscope.CpuCollector(b)
        c.start(); work(1)
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                work(50)
                state, reason = c.state.name, c.get_stats()["reason"]
                c.stop()
                d = inferscope.TraceBuffer(size_mb=8)
                e = inferscope.CpuCollector(d)
                e.start(); work(3); e.stop()
                rows = d.read_all()
                os.write(w, json.dumps([state, reason, names(rows)["leaf"], len(b),
                                        {x["process_id"] for x in rows} == {os.getpid()}]).encode())
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        work(2)
        c.stop()
        say(child=json.loads(os.read(r, 10000)), leaf=names(b.read_all())["leaf"])
        """,
    )
    state, reason, leaf, kept, own = said["child"]
    assert (state, leaf, kept, own) == ("Idle", 3, 0, True) and "forked" in reason
    assert said["leaf"] == 3


def test_threads_start_and_stop_as_they_like(program: Program, python: str) -> None:
    said = program(
        python,
        """
        counts = []
        def windows():
            b = inferscope.TraceBuffer(size_mb=8)
            c = inferscope.CpuCollector(b)
            for _ in range(10):
                c.start(); work(2); c.stop()
                me = threading.get_native_id()
                counts.append(names(e for e in b.read_all() if e["thread_id"] == me)["leaf"]); b.clear()
        threads = [threading.Thread(target=windows) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        say(counts=counts)
        """,
    )
    assert said["counts"] == [2] * 40


def test_exit_without_stop_is_quiet_and_leaves_nothing(program: Program, python: str, tmp_path: Path) -> None:
    said = program(
        python,
        """
        c = inferscope.CpuCollector(inferscope.TraceBuffer(size_mb=1))
        c.start(); work(3)
        def late():
            while True: work(1)
        threading.Thread(target=late, daemon=True).start()
        from inferscope import _core
        say(trace=_core.session()[0])
        """,
    )
    trace = Path(said["trace"])
    assert trace.parent == tmp_path
    import time

    deadline = time.monotonic() + 20
    while trace.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not trace.exists()


def test_under_run_its_session_is_used_and_not_disturbed(program: Program, python: str, inferscope: Any) -> None:
    code = """
        b = inferscope.TraceBuffer(size_mb=8)
        c = inferscope.CpuCollector(b)
        work(3); c.start(); work(4); c.stop(); work(5)
        from inferscope import _core
        say(leaf=names(b.read_all())["leaf"], session=_core.session()[:2])
        """
    report = inferscope.folder / "r.json"
    trace = inferscope.folder / "t.isc"
    under = (str(inferscope.path), "run", "--budget", "off", "--trace", str(trace), "--report", str(report), "--")
    said = program(python, code, under=under)
    assert said["leaf"] == 4
    assert said["session"] == [str(trace), False]
    import json

    (leaf,) = [f for f in json.loads(report.read_text())["functions"] if f["name"] == "leaf"]
    assert leaf["calls"] == 12


def test_samples_are_events_with_their_stack(program: Program, python: str) -> None:
    said = program(
        python,
        """
        def spin(ms):
            end = time.thread_time_ns() + ms * 1_000_000
            while time.thread_time_ns() < end:
                for _ in range(1000): pass
        def outer(): spin(400)
        b = inferscope.TraceBuffer(size_mb=8)
        c = inferscope.CpuCollector(b)
        c.start()
        outer()
        c.stop()
        rows = [e for e in b.read_all() if e["event_type"] == "cpu_sample"]
        inside = [e for e in rows if e["name"].endswith("spin")]
        say(some=inside[:1], file=__file__,
            names=[[f["name"] for f in e["stack"] if f["kind"] == "python"][-2:] for e in inside],
            lines=sorted({e["line"] for e in inside}), first=spin.__code__.co_firstlineno,
            tid=threading.get_native_id(),
            cpu_ms=sum(e["metadata"]["cpu_ns"] for e in rows if any(f["name"] == "outer" for f in e["stack"])) / 1e6)
        """,
    )
    (sample,) = said["some"]
    assert (sample["state"], sample["instructions"], sample["thread_id"]) == ("python", None, said["tid"])
    assert sample["start_ns"] == sample["end_ns"] and sample["metadata"]["steps"] >= 1
    assert sample["stack"][-1] == {
        "kind": "python", "name": "spin", "file": said["file"], "line": sample["line"], "module": None,
        "first_line": said["first"],
    }  # fmt: skip
    assert all(names == ["outer", "spin"] for names in said["names"])
    assert set(said["lines"]) <= set(range(said["first"], said["first"] + 4))
    assert 350 < said["cpu_ms"] < 450


def test_collections_of_garbage_are_events_of_a_window(program: Program, python: str) -> None:
    """And at stop the interpreter has the program's own list back."""
    said = program(
        python,
        """
        import gc
        gc.disable()
        def used():
            # The module made anew shows the list that the interpreter uses (from 3.10 on).
            shown = sys.modules.pop("gc")
            import gc as fresh
            sys.modules["gc"] = shown
            return fresh.callbacks is shown.callbacks
        b = inferscope.TraceBuffer(size_mb=8)
        c = inferscope.CpuCollector(b)
        gc.collect(0)
        before = used()
        c.start()
        during = used()
        gc.collect(2); gc.collect(1)
        c.stop()
        gc.collect(0)
        pauses = [e for e in b.read_all() if e["event_type"] == "gc_pause"]
        say(before=before, during=during, after=used(), first=pauses[0], callbacks=len(gc.callbacks),
            generations=[e["metadata"]["generation"] for e in pauses], tid=threading.get_native_id())
        """,
    )
    assert said["generations"] == [2, 1]
    assert (said["first"]["name"], said["first"]["thread_id"]) == ("gc", said["tid"])
    assert said["first"]["end_ns"] > said["first"]["start_ns"]
    assert said["before"] and said["after"] and said["callbacks"] == 0
    if not python.endswith("3.9"):
        assert not said["during"]


FIRST = {
    "setprofile": """
        seen = []
        def theirs(frame, event, arg):
            if event == "call" and frame.f_code.co_filename in FILES: seen.append(frame.f_code.co_name)
        sys.setprofile(theirs)
        begin, end = c.start, lambda: (c.stop(), sys.getprofile() is theirs, sys.setprofile(None))
        """,
    "settrace": """
        seen = []
        def theirs(frame, event, arg):
            if event == "call" and frame.f_code.co_filename in FILES: seen.append(frame.f_code.co_name)
        sys.settrace(theirs)
        begin, end = c.start, lambda: (c.stop(), sys.gettrace() is theirs, sys.settrace(None))
        """,
    "cProfile": """
        import cProfile, pstats
        theirs, seen = cProfile.Profile(), []
        theirs.enable()
        def end():
            c.stop(); theirs.disable()
            for (_, _, name), row in pstats.Stats(theirs).stats.items():
                if name in ("leaf", "f", "g"): seen.extend([name] * row[1])
            return None, True, None
        begin = c.start
        """,
    "monitoring": """
        m, seen = sys.monitoring, []
        for tool in (5, 4): m.use_tool_id(tool, "theirs")
        def theirs(code, offset):
            if code.co_filename in FILES: seen.append(code.co_name)
        m.register_callback(4, m.events.PY_START, theirs); m.set_events(4, m.events.PY_START)
        begin, end = c.start, lambda: (c.stop(), m.get_tool(4) == "theirs", m.set_events(4, 0))
        """,
}


@pytest.mark.parametrize("way", FIRST)
def test_whoever_was_there_first_sees_all_calls_and_so_do_we(program: Program, python: str, way: str) -> None:
    lines = f"""
        if {way!r} == "monitoring" and not hasattr(sys, "monitoring"):
            say(none=True); sys.exit()
        FILES = (__file__, "<inferscope>")
        buffer = inferscope.TraceBuffer(size_mb=8)
        c = inferscope.CpuCollector(buffer, budget="off")
        {FIRST[way].strip()}
        begin(); work(7); kept = end()[1]
        strange = sum(name in ("f", "g", "run") for name in seen)
        say(seen=seen.count("leaf"), strange=strange, ours=names(buffer.read_all())["leaf"], kept=kept)
        """
    said = program(python, lines)
    if "none" in said:
        pytest.skip("no sys.monitoring before 3.12")
    assert said == {"seen": 7, "strange": 0, "ours": 7, "kept": True}
