"""The CPU profiler on its own: stacks of all threads, counted inside this process."""

from __future__ import annotations

import ctypes
import functools
import inspect
import json
import os
import re
import sys
import threading
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, Callable, TextIO, TypeVar, cast

from inferscope._errors import Error

_F = TypeVar("_F", bound=Callable[..., Any])

_NATIVE = {"all": 0, "leaf": 1, "off": 2}
_COUNTERS = {"instructions": 0, "nothing": 1, "task-clock": 2}
_HOT_PATHS = 15
_NAME_WIDTH = 60


class _Options(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("size", "interval_us", "max_frames", "native", "counter")]


class _State(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("running", ctypes.c_int),
        ("shared", ctypes.c_int),
        ("interval_us", ctypes.c_uint32),
        ("elapsed_us", ctypes.c_uint64),
        ("samples", ctypes.c_uint64),
        ("signals", ctypes.c_uint64),
        ("stacks", ctypes.c_uint32),
        ("refused_threads", ctypes.c_uint32),
        ("other", ctypes.c_uint64),
        ("unknown", ctypes.c_uint64),
        ("spent_us", ctypes.c_uint64),
        ("instructions", ctypes.c_char_p),
        ("memory", ctypes.c_char_p),
        ("note", ctypes.c_char_p),
    ]


def _load(lib_path: str | os.PathLike[str] | None) -> ctypes.CDLL:
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libinferscope.so")
    # An installation for C programs has it where the loader looks.
    path = os.fspath(lib_path) if lib_path is not None else beside if os.path.exists(beside) else "libinferscope.so.0"
    try:
        library = ctypes.CDLL(path, use_errno=True)
        library.profiler_start_opts.argtypes = [ctypes.POINTER(_Options)]
        library.profiler_write_json.argtypes = library.profiler_write_summary.argtypes = [ctypes.c_char_p]
        library.profiler_get_state.restype = ctypes.POINTER(_State)
    except (OSError, AttributeError) as error:
        raise Error(f"cannot load the profiler from {path}: {error}; give the path of a libinferscope") from None
    return library


def _tell_layout() -> bool:
    """Let samples read Python's frames; without that they have native ones alone."""
    try:
        from inferscope import _core
    except ImportError:
        return False
    return _core.layout()


class CPUProfiler:
    """Samples the stacks of all threads of this process, one every ``interval_us`` of their CPU time.

    There is one profiler in a process: objects of this class are faces of it. ``start()`` begins a new profile and
    forgets the last one, which until then can be written as often as you like.

    >>> from inferscope import CPUProfiler
    >>> profiler = CPUProfiler()
    >>> profiler.start()
    True
    >>> sum(range(1000))
    499500
    >>> profiler.stop()
    True
    >>> profiler.state()["running"]
    False
    """

    def __init__(
        self,
        lib_path: str | os.PathLike[str] | None = None,
        *,
        interval_us: int = 1000,
        max_frames: int = 128,
        native: str = "all",
        counter: str = "instructions",
    ) -> None:
        if native not in _NATIVE:
            raise ValueError(f"native is one of {', '.join(_NATIVE)}, not {native!r}")
        if counter not in _COUNTERS:
            raise ValueError(f"counter is one of {', '.join(_COUNTERS)}, not {counter!r}")
        if not 100 <= interval_us <= 1_000_000:
            raise ValueError(f"interval_us is 100 to 1000000, not {interval_us!r}")
        if not 2 <= max_frames <= 128:
            raise ValueError(f"max_frames is 2 to 128, not {max_frames!r}")
        size = ctypes.sizeof(_Options)
        self._options = _Options(size, interval_us, max_frames, _NATIVE[native], _COUNTERS[counter])
        self._library = _load(lib_path)
        self._reason: str | None = None

    def start(self) -> bool:
        """Begin, if it has not begun; False when that cannot be, and ``state()["note"]`` says why."""
        known = _tell_layout()
        if self._library.profiler_start_opts(ctypes.byref(self._options)):
            self._reason = f"cannot start: {os.strerror(ctypes.get_errno())}"
            return False
        self._reason = None
        # Where the kernel does not let a process read itself, faults are caught from now on.
        if not known and not _tell_layout():
            self._reason = "Python frames cannot be read here: stacks have native frames alone"
        return True

    def stop(self) -> bool:
        """End, if it has not ended."""
        return bool(self._library.profiler_stop() == 0)

    def write_json(self, path: str | os.PathLike[str]) -> None:
        """Write the profile; OSError when that cannot be done, and nothing is lost."""
        self._write(self._library.profiler_write_json, path)

    def write_summary(self, path: str | os.PathLike[str]) -> None:
        """Write a page for people."""
        self._write(self._library.profiler_write_summary, path)

    def state(self) -> dict[str, Any]:
        """What there is: running, samples, stacks, other, interval_us, elapsed_us, ...

        ``instructions`` and ``memory`` are None, or why they are not known; ``note`` is None, or what to doubt.
        """
        found = self._library.profiler_get_state().contents
        state = {name: getattr(found, name) for name, _ in _State._fields_ if name != "size"}  # type: ignore[misc]
        for name, value in state.items():
            if isinstance(value, bytes):
                state[name] = value.decode()
        state["running"], state["shared"] = bool(found.running), bool(found.shared)
        state["note"] = self._reason or state["note"]
        return state

    @staticmethod
    def _write(write: Callable[[bytes], int], path: str | os.PathLike[str]) -> None:
        if write(os.fsencode(path)):
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error), os.fspath(path))


def _profile_of(profile: dict[str, Any] | str | os.PathLike[str]) -> dict[str, Any]:
    if isinstance(profile, dict):
        return profile
    with open(profile, encoding="utf-8") as file:
        return cast("dict[str, Any]", json.load(file))


def _plain(text: str) -> str:
    """For a terminal: nothing in a name steers it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class FlameGraphConverter:
    """Collapsed stacks of a profile, root first, for ``flamegraph.pl``, speedscope and inferno.

    >>> from inferscope import FlameGraphConverter
    >>> frames = [{"symbol": "main"}, {"symbol": "process"}, {"symbol": "malloc"}]
    >>> FlameGraphConverter({"stacks": [{"frames": frames, "count": 100}]}).collapse()
    'main;process;malloc 100\\n'
    """

    def __init__(self, profile: dict[str, Any] | str | os.PathLike[str]) -> None:
        self._profile = _profile_of(profile)

    def collapse(self) -> str:
        """One line per stack; threads are put together."""
        stacks: Counter[str] = Counter()
        for stack in self._profile["stacks"]:
            stacks[";".join(self._word(frame["symbol"]) for frame in stack["frames"])] += stack["count"]
        return "".join(f"{line} {count}\n" for line, count in stacks.items())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.collapse())

    @staticmethod
    def _word(symbol: str) -> str:
        """A semicolon parts frames and a blank ends them: names have neither."""
        return re.sub(r"[^\S]+|[\x00-\x1f\x7f]", "_", symbol).replace(";", ":") or "?"


class ProfileReport:
    """Prints a profile: the dictionary of its JSON, or the path of the file.

    >>> from inferscope import ProfileReport
    >>> frames = [{"symbol": "main", "file": "main.c", "line": 3}]
    >>> stack = {"frames": frames, "count": 4, "instructions": None, "memory_delta": 4096, "thread_id": 7}
    >>> profile = {"interval_us": 1000, "total_samples": 4, "elapsed_us": 5000, "stacks": [stack]}
    >>> ProfileReport(profile).print_summary()
    4 samples, one per 1 ms of CPU time, in 0.005 s; 1 stacks of 1 threads
      self   total  samples  function
    100.0%  100.0%        4  main  main.c
    """

    def __init__(
        self,
        profile: dict[str, Any] | str | os.PathLike[str],
        state: dict[str, Any] | None = None,
        file: TextIO | None = None,
    ) -> None:
        self._profile = _profile_of(profile)
        self._state = state or {}
        self._file = file

    def print_summary(self) -> None:
        """How much was seen, and the functions by their own time."""
        profile, total = self._profile, self._profile["total_samples"]
        threads = {stack["thread_id"] for stack in profile["stacks"]}
        self._say(
            f"{total:,} samples, one per {profile['interval_us'] / 1000:g} ms of CPU time, "
            f"in {profile['elapsed_us'] / 1e6:g} s; {len(profile['stacks'])} stacks of {len(threads)} threads"
        )
        own: Counter[tuple[str, str]] = Counter()
        whole: Counter[tuple[str, str]] = Counter()
        for stack in profile["stacks"]:
            functions = [(frame["symbol"], frame["file"] or "") for frame in stack["frames"]]
            own[functions[-1]] += stack["count"]
            whole.update({function: stack["count"] for function in set(functions)})
        if own:
            self._say("  self   total  samples  function")
        for (symbol, path), count in own.most_common(20):
            share, all_of_it = 100 * count / total, 100 * whole[symbol, path] / total
            self._say(f"{share:5.1f}%  {all_of_it:5.1f}%  {count:7,}  {_plain(symbol)}  {_plain(path)}".rstrip())
        if self._state.get("note"):
            self._say(f"note: {self._state['note']}")

    def print_hot_paths(self) -> None:
        """The stacks with most samples, at most 15."""
        for stack in self._profile["stacks"][:_HOT_PATHS]:
            share = 100 * stack["count"] / (self._profile["total_samples"] or 1)
            self._say(f"{share:5.1f}%  {stack['count']:,} samples, thread {stack['thread_id']}")
            for frame in stack["frames"]:
                where = f"  {frame['file']}:{frame['line']}" if frame["file"] else ""
                self._say(f"        {_plain(frame['symbol'] + where)}")

    def print_memory_stats(self) -> None:
        """How the memory in use changed, and where most."""
        self._print_by("memory_delta", "memory", "Memory in use changed by {:+,} bytes", "{:+15,} bytes  {}")

    def print_instruction_stats(self) -> None:
        """Instructions that were executed, and where most; where they were not counted, why not."""
        self._print_by("instructions", "instructions", "{:,} instructions", "{:15,}  {}")

    def _print_by(self, field: str, reason: str, head: str, row: str) -> None:
        stacks = [stack for stack in self._profile["stacks"] if stack[field] is not None]
        if not stacks and self._profile["stacks"]:
            why = self._state.get(reason) or "the profile does not say why"
            self._say(f"{reason.capitalize()} not known: {why}")
            return
        by_function: Counter[str] = Counter()
        for stack in stacks:
            by_function[stack["frames"][-1]["symbol"]] += stack[field]
        self._say(head.format(sum(stack[field] for stack in stacks)))
        most = sorted(by_function.items(), key=lambda item: -abs(item[1]))[:10]
        for symbol, value in most:
            if value:
                self._say(row.format(value, _plain(symbol)[:_NAME_WIDTH]))

    def _say(self, line: str) -> None:
        print(line, file=self._file or sys.stdout)


# Held by whoever profiles: one profile at a time, and what runs inside it is part of it.
_profiling = threading.Lock()


def _after_fork() -> None:
    global _profiling
    _profiling = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def _save(profiler: CPUProfiler, name: str, output_dir: str | os.PathLike[str], report: bool) -> None:
    base = os.path.join(os.fspath(output_dir), re.sub(r"[^\w.-]+", "_", name).strip("_") or "profile")
    os.makedirs(output_dir, exist_ok=True)
    profiler.write_json(f"{base}.json")
    profiler.write_summary(f"{base}.txt")
    profile = _profile_of(f"{base}.json")
    FlameGraphConverter(profile).save(f"{base}.folded")
    if report:
        shown = ProfileReport(profile, profiler.state())
        shown.print_summary()
        shown.print_hot_paths()
        shown.print_memory_stats()
        shown.print_instruction_stats()


@contextmanager
def profiler_context(
    name: str = "profile",
    output_dir: str | os.PathLike[str] = ".",
    *,
    report: bool = True,
    lib_path: str | os.PathLike[str] | None = None,
    interval_us: int = 1000,
) -> Iterator[CPUProfiler]:
    """Profile what runs inside; then save NAME.json, NAME.txt and NAME.folded and print the report.

    Inside another one, or while the profiler runs, nothing of that happens: it is part of that profile. Exceptions
    pass, and the profile is saved all the same; when it cannot be saved a warning says so.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, profiler_context("sum", folder, report=False):
    ...     total = sum(range(10))
    """
    profiler = CPUProfiler(lib_path, interval_us=interval_us)
    lock = _profiling
    if not lock.acquire(blocking=False):
        yield profiler
        return
    try:
        mine = not profiler.state()["running"] and profiler.start()
        process = os.getpid()
        try:
            yield profiler
        finally:
            if process != os.getpid():
                pass  # a fork child: the files are its parent's
            elif mine:
                profiler.stop()
                try:
                    _save(profiler, name, output_dir, report)
                except (OSError, ValueError) as error:
                    warnings.warn(f"inferscope: the profile of {name} is not saved or not shown: {error}", stacklevel=3)
            elif not profiler.state()["running"]:
                note = profiler.state()["note"]
                warnings.warn(f"inferscope: {name} was not profiled: {note}", RuntimeWarning, stacklevel=3)
    finally:
        # In a fork child inside the block it is another one.
        if lock.locked():
            lock.release()


def profile_function(
    output_dir: str | os.PathLike[str] = ".",
    *,
    report: bool = True,
    lib_path: str | os.PathLike[str] | None = None,
    interval_us: int = 1000,
) -> Callable[[_F], _F]:
    """Decorator: profile each call, save it under the name of the function, print the report.

    For plain functions, ``async def``, generators and async generators. A call inside a call is part of it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     @profile_function(output_dir=folder, report=False)
    ...     def work(n):
    ...         return sum(range(n))
    ...     work(10), sorted(os.listdir(folder))
    (45, ['work.folded', 'work.json', 'work.txt'])
    """

    def decorate(function: _F) -> _F:
        name = getattr(function, "__qualname__", "profile").rpartition("<locals>.")[2]

        def context() -> Any:
            return profiler_context(name, output_dir, report=report, lib_path=lib_path, interval_us=interval_us)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def call(*args: Any, **kwargs: Any) -> Any:
                with context():
                    return await function(*args, **kwargs)

        elif inspect.isasyncgenfunction(function):

            @functools.wraps(function)
            async def call(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
                with context():
                    async for value in function(*args, **kwargs):
                        yield value

        elif inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                with context():
                    return (yield from function(*args, **kwargs))

        else:

            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                with context():
                    return function(*args, **kwargs)

        return cast(_F, call)

    return decorate
