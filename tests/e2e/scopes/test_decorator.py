"""@scope("name"): functions of every kind, and what others can ask of them."""

from __future__ import annotations

from typing import Any


def test_functions_keep_what_they_are(traced: Any, python: str) -> None:
    found = traced(
        """
import asyncio, functools, inspect, pickle
from inferscope import scope

@scope("plain")
def plain(a, *, b: int = 2) -> str:
    "Says what."
    return f"{a}{b}"

@scope("coroutine")
async def coroutine(x):
    await asyncio.sleep(0)
    return x

@scope("generator")
def generator():
    got = yield 1
    print("got", got)
    return "end"

@scope("async generator")
async def stream():
    try:
        got = yield 1
        print("got", got)
        yield 2
    finally:
        print("closed")

class Model:
    @scope("method")
    def method(self, x): return type(self).__name__, x
    @classmethod
    @scope("inner classmethod")
    def inner(cls): return cls.__name__
    @scope("outer classmethod")
    @classmethod
    def outer(cls): return cls.__name__
    @staticmethod
    @scope("inner staticmethod")
    def still(x): return x
    @scope("outer staticmethod")
    @staticmethod
    def calm(x): return x

print(plain.__name__, plain.__doc__, inspect.signature(plain), plain.__wrapped__(1), plain(1, b=3))
print(inspect.isfunction(plain), inspect.iscoroutinefunction(coroutine), asyncio.iscoroutinefunction(coroutine),
      inspect.isgeneratorfunction(generator), inspect.isasyncgenfunction(stream))
print(pickle.loads(pickle.dumps(plain)) is plain)
print(Model().method(1), Model.method(Model(), 2), Model.inner(), Model().inner(), Model.outer(), Model().outer())
print(Model.still(3), Model().still(4), Model.calm(5), Model().calm(6))
print(scope("partial")(functools.partial(plain, 1))(), scope("lambda")(lambda: 7)(), scope("len")(len)([1]))
print(asyncio.run(coroutine(5)))

def delegate():
    print((yield from generator()))
it = delegate()
print(next(it))
try: it.send("sent")
except StopIteration: print("stopped")
""",
        python,
    ).scopes
    names = [s.name for s in found]
    assert names.count("plain") == 2  # once called, once through the partial
    assert {"coroutine", "generator", "method", "partial", "lambda", "len"} <= set(names)
    for kind in ("inner classmethod", "outer classmethod", "inner staticmethod", "outer staticmethod", "method"):
        assert names.count(kind) == 2, kind
    assert all(s.left_s is not None for s in found)


def test_generators_are_inside_from_their_first_step_to_their_end(traced: Any, python: str) -> None:
    found = traced(
        """
import time
from inferscope import scope

@scope("generator")
def generator(n):
    for i in range(n):
        with scope("step"):
            pass
        try:
            yield i
        except KeyError:
            print("caught")

never = generator(3)
del never  # not begun: no scope
whole = list(generator(3))
closed = generator(3); next(closed); closed.close()
thrown = generator(3); next(thrown); print(thrown.throw(KeyError()))
try: thrown.throw(ValueError("through"))
except ValueError as error: print(error)
forgotten = generator(3); next(forgotten); del forgotten
""",
        python,
    ).scopes
    assert len(found.named("generator")) == 4
    assert all(s.left_s is not None for s in found)
    assert {found.around(s) for s in found.named("step")} == {"generator"}


def test_async_generators_are_driven_as_they_are(traced: Any, python: str) -> None:
    program = """
import asyncio
from inferscope import scope

async def theirs():
    try:
        try:
            got = yield 1
            print("got", got)
        except KeyError as error:
            print("caught", error)
            yield "after throw"
        got = yield 2
        print("got", got)
        await asyncio.sleep(0)
        yield 3
    finally:
        await asyncio.sleep(0)
        print("closed")

async def drive(make):
    print([x async for x in make()])
    it = make()
    print(await it.__anext__(), await it.asend("a"), await it.asend("b"))
    try: await it.asend("c")
    except StopAsyncIteration: print("stopped")
    it = make()
    print(await it.__anext__(), await it.athrow(KeyError("k")))
    await it.aclose()
    it = make()
    print(await it.__anext__())
    try: await it.athrow(ValueError("v"))
    except ValueError as error: print("through", error)
    it = make()
    await it.aclose()

print("bare"); asyncio.run(drive(theirs))
print("ours"); asyncio.run(drive(scope("stream")(theirs)))
"""
    done = traced(program, python)
    bare, ours = done.stdout.removeprefix("bare\n").split("ours\n")
    assert bare == ours
    assert len(done.scopes.named("stream")) == 4, "the last was closed before it began"
    assert all(s.left_s is not None for s in done.scopes)


def test_a_decorated_coroutine_runs_in_many_tasks_at_once(traced: Any, python: str) -> None:
    found = traced(
        """
import asyncio
from inferscope import scope

@scope("request")
async def answer(n):
    await asyncio.sleep(0.01 * n)
    with scope(f"part {n}"):
        return n

async def main():
    print(await asyncio.gather(*(answer(n) for n in range(5))))
asyncio.run(main())
""",
        python,
    ).scopes
    requests = sorted(found.named("request"), key=lambda s: s.instance)
    assert len(requests) == 5
    for n, request in enumerate(requests):
        assert found.one(f"part {n}").around == request.instance
        assert request.left_s is not None and request.left_s - request.entered_s >= 0.01 * n
