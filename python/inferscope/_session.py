"""The session that records this process, and windows in time over its trace."""

from __future__ import annotations

import os
import sys
import weakref
from _thread import allocate_lock
from typing import Any, Callable

from inferscope import _core, _devices

# What a stop() waits for the recorder at most.
_PATIENCE_MS = 2000
_ALL_TICKS = 2**64 - 1
# An event takes this much while it is read: what a read may take in all follows from it.
_SPAN_BYTES = 64

# After so many windows a scratch trace forgets them before the next: reading it goes through all of it.
_WINDOWS_KEPT = 64

_lock = allocate_lock()
_closed = 0
_windows: weakref.WeakSet[Window] = weakref.WeakSet()


def _forked() -> None:
    """In a fork child nobody has started anything, but for the session that follows its parent."""
    global _lock
    _lock = allocate_lock()
    _core.forked()
    for window in list(_windows):
        window.opened = window._told = False
        window.note = "the process was forked: its child starts its own"
        window.forked()


os.register_at_fork(after_in_child=_forked)


def _begin() -> None:
    """A window is about to be opened."""
    global _closed
    with _lock:
        if _closed >= _WINDOWS_KEPT and not any(window.opened for window in list(_windows)):
            _closed = 0
            _core.flush(_PATIENCE_MS, True)
        _core.window(True)


def join(size_mb: float) -> str | None:
    """See to it that a session records this process; why that cannot be, or None."""
    if _core.inert:
        return _core.reason
    if "t" in getattr(sys, "abiflags", ""):
        return "free-threaded Python is not supported"
    with _lock:
        if _core.session() is not None:
            return None
        if os.getuid() != os.geteuid() or os.getgid() != os.getegid():
            return "a process with raised rights is not traced"
        return _start_recorder(size_mb)


def _start_recorder(size_mb: float) -> str | None:
    from inferscope import _command, _recorder

    command = _command.find()
    if command is None:
        return "the inferscope command is neither beside this package nor on PATH; run pip install inferscope"
    try:
        lines, why = _recorder.start(command, "--scratch", "--size-mb", str(max(1, round(size_mb))))
    except OSError as error:
        return f"the recorder cannot be started: {error}"
    if not lines:
        return why.partition("inferscope: ")[2] or why
    if len(lines) > 2:
        _devices.found_cuda(lines[2])
    return None if _core.attach(lines[0]) else "the session cannot be joined"


class Window:
    """A stretch of time of this process, from open() to close()."""

    def __init__(
        self,
        size_mb: float,
        all_frames: bool,
        c_calls: bool,
        budget: float,
        *,
        cpu: bool = True,
        gpu: bool = False,
        memory: bool = False,
    ) -> None:
        self._size_mb = size_mb
        self._how = (all_frames, c_calls, budget)
        self._cpu, self._gpu, self._memory = cpu, gpu, memory
        self._told = False  # Python's allocators tell for this window
        self._from = self._to = 0
        self._pid = self._forgotten = 0
        self.opened = False
        self.forked: Callable[[], None] = lambda: None
        self.note: str | None = None
        _windows.add(self)

    def watch_gpu(self) -> None:
        """Its events are also those of GPUs."""
        self._gpu = True

    def open(self) -> bool:
        """Begin; False with a note when that cannot be."""
        self.note = join(self._size_mb)
        if self.note is not None:
            return False
        _begin()
        if self._gpu:  # before calls are traced: nothing of ours is to be seen among them
            _devices.watch()
        begin = _core.ticks()
        self.note = _core.start(*self._how) if self._cpu else None
        session = _core.session()
        if self.note is not None or session is None:
            _core.window(False)
            if self._gpu:
                _devices.unwatch()
            return False
        self._from, self._to, self._pid, self._forgotten = begin, _ALL_TICKS, os.getpid(), session[3]
        self._told = self._memory and _core.memory(True)
        self.opened = True
        return True

    def close(self) -> bool:
        """End; False with a note when the recorder may not have written everything yet."""
        global _closed
        if not self.opened:
            return True
        if self._told:
            self._told = False
            _core.memory(False)
        if self._cpu:
            _core.stop()
        if self._gpu:
            _devices.unwatch()
        self._to = _core.ticks()
        self.opened = False
        _closed += 1
        return self.flush()

    def end_at(self, ticks: int) -> None:
        """A closed window ended so early."""
        self._to = ticks

    def release(self) -> None:
        """What there was to be read of a closed window was read."""
        _core.window(False)

    def flush(self) -> bool:
        if _core.flush(_PATIENCE_MS):
            return True
        self.note = "the recorder does not answer: the last events may be missing"
        return False

    def path(self) -> str:
        """Of the trace."""
        from inferscope._errors import Error

        session = _core.session()
        if session is None or self._pid == 0:
            raise Error("there is no trace: nothing was collected yet; call start() first")
        if session[3] != self._forgotten:
            raise Error("the trace of this window is gone: many others came since; ask before the next start()")
        return session[0]

    def read(self, take: Callable[[dict[str, Any]], object] | None, thread_id: int = 0) -> dict[str, int]:
        """Give the events of this process to take, in the order in which they began; what there was."""
        from inferscope import _offline

        most = max(1024, int(self._size_mb * 2**20 / _SPAN_BYTES))
        return _offline.read(self.path(), self._from, self._to, self._pid, thread_id, most, take, self._cpu, self._gpu)

    def report(self, format: str, files: dict[str, str] | None = None) -> str:
        """A report on the window; files that have another name in it."""
        from inferscope import _offline

        names = {_bytes(file): _bytes(name) for file, name in (files or {}).items()}
        return _offline.report(self.path(), self._from, self._to, True, format, names or None)

    def copy(self, path: str) -> None:
        """The session's trace up to now."""
        from inferscope import _offline

        _offline.copy(self.path(), path, False)


def _bytes(text: str) -> bytes:
    """As the trace has it."""
    return text.encode("utf-8", "backslashreplace")


def budget_of(value: float | str | None) -> float:
    """What tracing inside the process may cost, in percent; negative: any."""
    if value is None or value == "off":
        return -1.0
    if isinstance(value, (bool, str)):
        raise TypeError(f'budget is a number of percent or "off", not {value!r}')
    if not 0 <= value <= 100:
        raise ValueError(f"budget is 0 to 100 percent, not {value!r}")
    return value / 2  # as `inferscope run` has it: the other half is for watching from outside
