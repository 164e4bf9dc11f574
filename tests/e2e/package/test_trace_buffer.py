"""TraceBuffer: what goes in comes out, and no more than its size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[..., Any]


def test_events_come_back_as_they_were_oldest_first(program: Program, python: str) -> None:
    said = program(
        python,
        """
        b = inferscope.TraceBuffer(size_mb=1)
        def event(**more):
            return {"event_type": "instant", "name": "n", "start_ns": 1, **more}
        values = [None, True, False, 0, -1, 2**63, -2**70, 1.5, float("inf"), -0.0, "", "x" * 1000, "\\udc80\\u2028",
                  b"\\x00\\xff", [1, [2, []]], (1, "a"), {"k": {"l": [None]}}, {1: 2}]
        given = [event(metadata=v, start_ns=i) for i, v in enumerate(values)]
        given.append(event(**{f"key{i}": i for i in range(40)}))
        stored = [b.enqueue(e) for e in given]
        same = [repr(e) == repr(f) and list(e) == list(f) for e, f in zip(b.read_all(), given)]
        again = b.read_all() == given
        b.clear()
        say(stored=all(stored), same=all(same), count=len(same), again=again, left=b.read_all(), lost=b.lost, n=len(b))
        """,
    )
    assert said == {"stored": True, "same": True, "count": 19, "again": True, "left": [], "lost": 0, "n": 0}


def test_what_is_no_event_is_refused(program: Program, python: str) -> None:
    said = program(
        python,
        """
        b = inferscope.TraceBuffer(size_mb=1)
        good = {"event_type": "cpu_call", "name": "f", "start_ns": 5, "end_ns": 9}
        class Odd(int): pass
        deep = []
        for _ in range(200): deep = [deep]
        round = []; round.append(round)
        bad = [None, 1, "x", [], {}, {"name": "f", "start_ns": 1}, {**good, "event_type": ""}, {**good, "name": 3},
               {**good, "start_ns": 1.5}, {**good, "start_ns": True}, {**good, "start_ns": -1}, {**good, "end_ns": 4},
               {**good, "end_ns": None}, {"event_type": "instant", "name": "f"}, {**good, "metadata": object()},
               {**good, "metadata": Odd(1)}, {**good, "metadata": bytearray(b"x")}, {**good, "metadata": deep},
               {**good, "metadata": round}, {**good, "metadata": {1, 2}}, {**good, "metadata": "x" * (1 << 20)}]
        say(refused=[b.enqueue(e) for e in bad], kept=len(b), good=b.enqueue(good),
            micro=b.enqueue({"event_type": "instant", "name": "f", "start_us": 1}))
        """,
    )
    assert said == {"refused": [False] * 21, "kept": 0, "good": True, "micro": True}


def test_a_full_buffer_drops_the_oldest_counts_them_and_warns_once(program: Program, python: str) -> None:
    said = program(
        python,
        """
        import warnings
        def rss():
            with open("/proc/self/statm") as f: return int(f.read().split()[1]) * 4
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            b = inferscope.TraceBuffer(size_mb=4)
            before = rss()
            for i in range(200_000):
                name = "n" * (i % 97 + 1)
                assert b.enqueue({"event_type": "instant", "name": name, "start_ns": i, "metadata": "y" * 100})
            grown = rss() - before
        kept = b.read_all()
        say(first=kept[0]["start_ns"], last=kept[-1]["start_ns"], kept=len(kept), lost=b.lost, grown=grown,
            in_order=[e["start_ns"] for e in kept] == list(range(b.lost, 200_000)),
            warned=[str(w.message) for w in seen])
        """,
    )
    assert said["in_order"] and said["last"] == 199_999
    assert said["kept"] + said["lost"] == 200_000 and said["kept"] > 15_000
    assert said["grown"] < 5 * 1024
    assert len(said["warned"]) == 1 and "4 MB is full" in said["warned"][0]


def test_the_size_is_looked_at(program: Program, python: str) -> None:
    said = program(
        python,
        """
        def told(*a, **k):
            try: inferscope.TraceBuffer(*a, **k)
            except Exception as e: return type(e).__name__
        nan = float("nan")
        say(told=[told(0), told(-1), told(nan), told(1e9), told("1"), told(True), told(None), told(1, 2), told(size=1)],
            size=[inferscope.TraceBuffer().size_mb, inferscope.TraceBuffer(0.5).size_mb])
        """,
    )
    values, types = ["ValueError"] * 4, ["TypeError"] * 5
    assert said == {"told": values + types, "size": [100.0, 0.5]}


def test_threads_store_at_once(program: Program, python: str) -> None:
    said = program(
        python,
        """
        b = inferscope.TraceBuffer(size_mb=8)
        def store(k):
            for i in range(2000):
                b.enqueue({"event_type": "instant", "name": "t%d" % k, "start_ns": i})
        threads = [threading.Thread(target=store, args=(k,)) for k in range(4)]
        for t in threads: t.start()
        while any(t.is_alive() for t in threads): b.read_all()
        for t in threads: t.join()
        rows = b.read_all()
        say(count=len(rows), orders=[[e["start_ns"] for e in rows if e["name"] == "t%d" % k] == list(range(2000))
                                     for k in range(4)])
        """,
    )
    assert said == {"count": 8000, "orders": [True] * 4}
