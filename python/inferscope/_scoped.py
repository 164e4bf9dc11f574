"""Functions that run inside a scope: what ``@scope("name")`` makes of a function.

They are functions of the same kind (plain, ``async def``, generator, async generator), so that whoever asks what
they are gets the right answer.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Generator
from types import CodeType
from typing import Any

# Of the code object; `inspect` knows them too, but takes a while to import.
_GENERATOR, _COROUTINE, _ITERABLE_COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x100, 0x200


def _flags(function: Any) -> int:
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    return code.co_flags if isinstance(code, CodeType) else 0


def scoped(scope: Any, function: Any) -> Any:
    """The function, inside the scope."""
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(scoped(scope, function.__func__))
    if not callable(function):
        raise TypeError(f"a scope decorates a function, not {type(function).__name__}")
    flags = _flags(function)
    if flags & _ASYNC_GENERATOR:
        return _async_generator(scope, function)
    if flags & _COROUTINE:
        return _coroutine(scope, function)
    if flags & _GENERATOR and not flags & _ITERABLE_COROUTINE:
        return _generator(scope, function)
    return _plain(scope, function)


def _plain(scope: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **named: Any) -> Any:
        with scope:
            return function(*args, **named)

    return inner


def _coroutine(scope: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def inner(*args: Any, **named: Any) -> Any:
        with scope:
            return await function(*args, **named)

    return inner


def _generator(scope: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **named: Any) -> Generator[Any, Any, Any]:
        with scope:
            return (yield from function(*args, **named))

    return inner


def _async_generator(scope: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def inner(*args: Any, **named: Any) -> AsyncGenerator[Any, Any]:
        with scope:
            theirs = function(*args, **named)
            step = theirs.__anext__()
            while True:
                try:
                    value = await step
                except StopAsyncIteration:
                    return
                try:
                    sent = yield value
                except GeneratorExit:
                    await theirs.aclose()
                    raise
                except BaseException as error:
                    step = theirs.athrow(error)
                else:
                    step = theirs.asend(sent)

    return inner
