"""inferscope.scope in a Python program: what it records, and that it changes nothing."""

from __future__ import annotations

from typing import Any


def test_scopes_nest_and_return_themselves(traced: Any, python: str) -> None:
    found = traced(
        """
from inferscope import scope
outer = scope("outer")
with outer as got:
    with scope("inner"):
        pass
    with outer:  # the same one again, inside itself
        pass
with outer:
    pass
print(got is outer, outer, outer.name)
""",
        python,
    ).scopes
    assert [s.name for s in found] == ["outer", "inner", "outer", "outer"]
    assert [found.around(s) for s in found] == [None, "outer", "outer", None]
    assert all(s.left_s is not None and not s.moved for s in found)
    assert found[0].left_s > found[2].left_s > found[1].left_s


def test_exceptions_go_through_and_leave_the_scope(traced: Any, python: str) -> None:
    done = traced(
        """
from inferscope import scope
try:
    with scope("fails"):
        raise KeyError("mine")
except KeyError as error:
    print(error, error.__traceback__.tb_next)
with scope("after"):
    pass
for bad in (1, None, b"x"):
    try:
        scope(bad)
    except TypeError as error:
        print(error)
for call in (lambda: scope(), lambda: scope("a", "b"), lambda: scope(nom="a"), lambda: scope("a")(3)):
    try:
        call()
    except TypeError as error:
        print("TypeError")
print(scope(name="x").name)
""",
        python,
    )
    assert done.scopes.around(done.scopes.one("after")) is None
    assert done.scopes.one("fails").left_s is not None
    assert done.stdout.count("TypeError") == 4


def test_the_methods_are_methods(traced: Any, python: str) -> None:
    """They are of a type of our own, which `with` finds cheap."""
    done = traced(
        """
import contextlib
from inferscope import scope
s = scope("s")
with contextlib.ExitStack() as stack:  # finds them in the class
    entered = [stack.enter_context(scope(f"stacked {n}")) for n in range(20)]
    print(len(entered))
print(scope.__enter__(s) is s, scope.__exit__(s, None, None, None))
enter, leave = s.__enter__, s.__exit__
print(enter() is s, enter.__self__ is s, leave(None, None, None), leave())
print(enter.__name__, leave.__name__, enter.__doc__, scope.__exit__.__doc__, enter, scope.__enter__)
print(isinstance(s, contextlib.AbstractContextManager), "__enter__" in dir(s))
for wrong in (
    lambda: enter(1), lambda: enter(x=1), lambda: leave(x=1), lambda: scope.__enter__(), lambda: scope.__enter__(3),
    lambda: scope.__dict__["__enter__"].__get__(3, int), lambda: type(enter)(), lambda: type(scope.__enter__)(),
):
    try:
        print("no error", wrong())
    except TypeError as error:
        print(type(error).__name__)
held = [scope(str(n)).__enter__ for n in range(100)]
print(sum(bound().name == str(n) for n, bound in enumerate(held)))
del held
with scope("after"):
    pass
""",
        python,
    )
    assert done.stdout.count("TypeError") == 8 and "no error" not in done.stdout
    assert done.scopes.one("after").left_s is not None
    assert all(s.left_s is not None for s in done.scopes if s.name.startswith("stacked"))


def test_tasks_know_their_scope_and_not_each_others(traced: Any, python: str) -> None:
    found = traced(
        """
import asyncio
from inferscope import scope

async def answer(n, seconds):
    with scope(f"request {n}"):
        with scope(f"part {n}"):
            await asyncio.sleep(seconds)
            with scope(f"late {n}"):
                await asyncio.sleep(0.01)

async def main():
    with scope("serve"):
        tasks = [asyncio.create_task(answer(n, 0.02 * n)) for n in (1, 2, 3)]
    with scope("elsewhere"):
        await asyncio.gather(*tasks)

asyncio.run(main())
""",
        python,
    ).scopes
    for n, seconds in ((1, 0.02), (2, 0.04), (3, 0.06)):
        part = found.one(f"part {n}")
        assert found.around(part) == f"request {n}"
        assert found.around(found.one(f"late {n}")) == f"part {n}"
        # Made inside "serve", which was left before the task ran its first line.
        assert found.around(found.one(f"request {n}")) is None
        assert part.left_s is not None and seconds + 0.01 <= part.left_s - part.entered_s
    starts = [found.one(f"request {n}").entered_s for n in (1, 2, 3)]
    ends = [found.one(f"request {n}").left_s for n in (1, 2, 3)]
    assert max(starts) < min(ends), "they did take turns"


def test_the_scope_around_a_task_is_the_one_it_was_made_in(traced: Any, python: str) -> None:
    found = traced(
        """
import asyncio, sys
from inferscope import scope

def blocking():
    with scope("blocking"):
        return 7

async def part():
    with scope("part"):
        await asyncio.sleep(0)

async def main():
    with scope("request"):
        task = asyncio.create_task(part())
        with scope("other"):
            await task
        print(await asyncio.to_thread(blocking))
    with scope("next"):
        print(await asyncio.to_thread(blocking))

with scope("program"):
    asyncio.run(main())
""",
        python,
    ).scopes
    assert found.around(found.one("request")) == "program"
    assert found.around(found.one("part")) == "request"
    first, second = found.named("blocking")
    assert found.around(first) == "request"
    assert found.around(second) == "next"
    assert first.thread != found.one("request").thread


def test_threads_and_contexts_are_apart(traced: Any, python: str) -> None:
    found = traced(
        """
import contextvars, threading
from inferscope import scope
shared = scope("shared")

def work():
    for _ in range(50):
        with shared:
            with scope("inside"):
                pass

threads = [threading.Thread(target=work) for _ in range(4)]
with scope("main"):
    for t in threads: t.start()
    for t in threads: t.join()
    copy = contextvars.copy_context()
t = threading.Thread(target=copy.run, args=(work,))
t.start(); t.join()
""",
        python,
    ).scopes
    assert len(found.named("shared")) == len(found.named("inside")) == 250
    by_instance = {s.instance: s for s in found}
    for inside in found.named("inside"):
        around = by_instance[inside.around]
        assert (around.name, around.thread) == ("shared", inside.thread)
        assert not inside.moved
    assert {found.around(s) for s in found.named("shared")} == {None}, "main was left before its copy ran"


def test_a_scope_may_be_left_on_another_thread(traced: Any, python: str) -> None:
    done = traced(
        """
import threading
from inferscope import scope
request = scope("request")
request.__enter__()
t = threading.Thread(target=request.__exit__, args=(None, None, None))
t.start(); t.join()
print(request.__exit__(None, None, None))  # without an enter: nothing
with scope("after"):
    pass
""",
        python,
    )
    request = done.scopes.one("request")
    assert request.moved and request.left_s is not None
    assert done.scopes.around(done.scopes.one("after")) is None
    (total,) = [line for line in done.run.dump() if line.startswith('total scope p1 "request"')]
    assert "count 1 open 0 unmatched 0" in total


def test_a_fork_inside_a_scope_leaves_it_to_the_parent(traced: Any, python: str) -> None:
    found = traced(
        """
import os
from inferscope import scope
with scope("request"):
    pid = os.fork()
    with scope("child" if pid == 0 else "parent"):
        if pid:
            os.waitpid(pid, 0)
if pid == 0:
    with scope("child after"):
        pass
    os._exit(0)
""",
        python,
    ).scopes
    request = found.one("request")
    assert request.process == found.one("parent").process and request.left_s is not None
    child = found.one("child")
    assert child.process != request.process
    assert child.around == request.instance, "the scope that the parent was in"
    assert found.one("child after").around == 0


def test_recording_may_begin_and_end_inside_a_scope(traced: Any, python: str) -> None:
    program = """
import time, inferscope
from inferscope import scope
def wait(wanted):
    deadline = time.monotonic() + 20
    while inferscope.active() != wanted and time.monotonic() < deadline:
        time.sleep(0.001)
again = scope("again")
with scope("before"):
    with again:
        wait(True)
        with again:
            with scope("seen"):
                pass
    with again:
        wait(False)
        with again:
            pass
    with again:
        pass
print("done")
"""
    done = traced(program, python, "--delay", "0.3", "--duration", "0.5", same=False)
    assert done.stdout == "done\n"
    assert [s.name for s in done.scopes] == ["again", "seen", "again"]
    assert [s.left_s is not None for s in done.scopes] == [True, True, False]
    assert [done.scopes.around(s) for s in done.scopes] == [None, "again", None]


def test_a_program_that_ends_inside_a_scope_leaves_it_open(traced: Any, python: str) -> None:
    done = traced("import os\nfrom inferscope import scope\nwith scope('open'): os._exit(3)\n", python, code=3)
    assert done.scopes.one("open").left_s is None
    (facts,) = [s for s in done.run.report.scopes if s.name == "open"]
    assert (facts.count, facts.open) == (0, 1)


def test_many_scopes_inside_each_other(traced: Any, python: str) -> None:
    """Leaving, and forgetting what was never left, takes no stack."""
    found = traced(
        """
from inferscope import scope
entered = [scope("deep").__enter__() for _ in range(100000)]
del entered
import contextvars
contextvars.copy_context().run(lambda: [scope("lost").__enter__() for _ in range(100000)])
print("alive")
""",
        python,
        "--trace-size-mb",
        "200",
    ).scopes
    assert len(found.named("deep")) > 1000


def test_names_of_every_kind(traced: Any, python: str) -> None:
    done = traced(
        """
from inferscope import scope
for name in ("", "päron", "\\ud800", "a\\0b", "x" * 70000, "\\U0001f600"):
    with scope(name):
        pass
    scope(name)(lambda: None)()
""",
        python,
    )
    names = {s.name for s in done.run.report.scopes}
    assert {"", "päron", "\\ud800", "\U0001f600"} <= names
    assert len(names) == 6


def test_the_slowest_scope_is_in_the_summary(traced: Any, python: str) -> None:
    done = traced(
        "import time\nfrom inferscope import scope\n"
        "for s in (0.001, 0.03):\n    with scope('slow one'): time.sleep(s)\n"
        "with scope('quick'): pass\n",
        python,
    )
    assert any("slow one" in line for line in done.run.ours), done.run.ours
