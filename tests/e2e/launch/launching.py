"""Programs under the launcher: as a child whose lines are read, and in an interactive shell on a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

DEADLINE = 20.0


def eventually(what: Callable[[], object], why: str) -> None:
    """Looks again until it is true."""
    end = time.monotonic() + DEADLINE
    while not what():
        if time.monotonic() > end:
            raise AssertionError(f"not within {DEADLINE} s: {why}")
        time.sleep(0.005)


def stat_fields(pid: int) -> list[str]:
    """State, parent, group, session, ... of a process; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def members(session: int) -> list[int]:
    """The processes of a session."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return sorted(pid for pid in pids if stat_fields(pid)[3:4] == [str(session)])


class Child:
    """A command in a session of its own, whose output is read line by line."""

    def __init__(self, command: list[str], **options: object) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True, **options
        )  # type: ignore[call-overload]
        self.pid: int = self.process.pid
        self.rest = b""

    def line(self) -> str:
        """The next line, "" at the end of the output."""
        out = self.process.stdout
        end = time.monotonic() + DEADLINE
        while b"\n" not in self.rest:
            ready, _, _ = select.select([out], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"no line within {DEADLINE} s, only {self.rest!r}")
            more = os.read(out.fileno(), 65536)
            if not more:
                return ""
            self.rest += more
        first, _, self.rest = self.rest.partition(b"\n")
        return first.decode()

    def ready(self) -> int:
        """Waits until the program says that it is; its pid."""
        word, _, pid = self.line().partition(" ")
        assert word == "ready"
        return int(pid)

    def until_end(self) -> list[str]:
        """Sends the last signal to the recorder, and reads what came before it."""
        os.kill(self.pid, 63)
        lines = []
        while (line := self.line()) not in ("end", ""):
            lines.append(line)
        self.process.wait(DEADLINE)
        return lines

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in members(self.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(DEADLINE)
        assert self.process.stdout is not None
        self.process.stdout.close()


class Terminal:
    """An interactive bash on a terminal.  Commands use $W, the words in front of the program."""

    PROMPT = "<prompt>"

    def __init__(self, wrap: list[str]) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(PS1=self.PROMPT, TERM="dumb", HISTFILE="/dev/null", W=" ".join(wrap))
            os.environ.pop("PROMPT_COMMAND", None)
            os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])
        self.text = ""
        self.at = 0
        self.until(self.PROMPT)

    def until(self, pattern: str) -> None:
        """Reads until the pattern has come after what was found before."""
        end = time.monotonic() + DEADLINE
        while not (found := re.compile(pattern).search(self.text, self.at)):
            ready, _, _ = select.select([self.fd], [], [], 0.05)
            if ready:
                self.text += os.read(self.fd, 4096).decode(errors="replace").replace("\r", "")
            assert time.monotonic() < end, f"no {pattern!r} in {self.text[self.at :]!r}"
        self.at = found.end()

    def type(self, line: str, pattern: str | None = None) -> None:
        """A line, and what is waited for; the prompt unless said otherwise."""
        os.write(self.fd, line.encode() + b"\n")
        self.until(pattern or self.PROMPT)

    def key(self, key: str, pattern: str | None = None) -> None:
        os.write(self.fd, bytes([ord(key) & 0x1F]))
        self.until(pattern or self.PROMPT)

    def in_front(self) -> None:
        """Waits until a job has the terminal."""
        eventually(lambda: os.tcgetpgrp(self.fd) != self.pid, "a job in the foreground")

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        for pid in members(self.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.close(self.fd)
        os.waitpid(self.pid, 0)

    def seen(self) -> list[str]:
        """What was on the screen, without what differs from run to run."""
        lines = (re.sub(r"(^ready |^\[\d+\][+-]? +)\d+", r"\1N", line).strip() for line in self.text.split("\n"))
        return [line for line in lines if line]


@contextlib.contextmanager
def terminal(wrap: list[str]) -> Iterator[Terminal]:
    opened = Terminal(wrap)
    try:
        yield opened
    finally:
        opened.close()
