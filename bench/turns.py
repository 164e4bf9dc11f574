"""A program alone and the same program under a tool, both alive at once, working in turn a few hundredths of a second.

A machine that others use is quick and slow for tenths of a second at a time.  Two runs one after the other meet
different machines; two turns one after the other mostly meet the same.  A turn begins with work that is not measured,
for whatever a tool saved up while the other one worked, and for caches that this one had.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from interval import Interval, clustered

ROUND_S = 1.5  # at least; then both are started anew: two processes of one program differ by some percent
PAUSE_S = 0.002  # between two turns: what a tool does right after one is not the other's to pay
LEAST_ROUNDS = 5
LONGER = 8  # times as long as asked, at most, for an interval that is narrow enough
LONGEST_S = 60.0  # for a turn of some 40 ms, or to set itself up: a tool that stops the program that much is not for it
END_S = 120.0
WORD = "turns"  # the argument that tells a program to work so


class Failed(Exception):
    """A program did not do what it was started for: nothing was measured."""


class Player:
    """A process that works when it is told to."""

    def __init__(self, argv: list[str], env: dict[str, str], errors: Path) -> None:
        self.argv = argv
        self.errors = errors
        self.worked_ms = 0.0  # in all, measured or not
        with errors.open("wb") as err:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, env=env, start_new_session=True
            )

    def __enter__(self) -> Player:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()

    def turn(self) -> tuple[float, ...]:
        """What one turn took: on the clock, and in CPU time of the program."""
        assert self.process.stdin is not None and self.process.stdout is not None
        late = threading.Timer(LONGEST_S, os.killpg, (self.process.pid, signal.SIGKILL))
        late.start()
        try:
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                if line.startswith(b'{"work_ms"'):
                    said = json.loads(line)
                    self.worked_ms += said["turn_ms"]
                    return float(said["work_ms"]), float(said["work_cpu_ms"])
        except BrokenPipeError:
            pass
        finally:
            late.cancel()
        if self.process.wait(END_S) == -signal.SIGKILL:
            raise Failed(f"not one turn in {LONGEST_S:.0f} s")
        last = self.errors.read_text(errors="replace")[-500:]
        raise Failed(f"{' '.join(self.argv)}: ended before its turn: {last}")

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(END_S)


def medians(rounds: list[list[tuple[float, ...]]]) -> list[Interval]:
    """Of all pairs; the interval is resampled by rounds, for what two processes differ in lasts as long as they do."""
    return [clustered([[pair[i] for pair in pairs] for pairs in rounds]) for i in range(len(rounds[0][0]))]


def narrow(rounds: list[list[tuple[float, ...]]], wide: float) -> bool:
    found = medians(rounds)[0]
    return found.high - found.low <= wide


def play(
    start_bare: Callable[[], Player],
    start_other: Callable[[], Player],
    seconds: float,
    ended: Callable[[Player], None] = lambda _: None,
    wide: float | None = None,
) -> list[Interval]:
    """The medians of other / bare; `ended` is called for every process of the other that has come to its end.

    With `wide` it goes on until the first of the intervals is no wider.
    """
    rounds: list[list[tuple[float, ...]]] = []
    now = time.monotonic()
    enough, end = now + seconds, now + LONGER * seconds
    while len(rounds) < LEAST_ROUNDS or time.monotonic() < enough or (wide and time.monotonic() < end):
        if wide and len(rounds) % 5 == 4 and time.monotonic() >= enough and narrow(rounds, wide):
            break
        pairs: list[tuple[float, ...]] = []
        begin = time.monotonic()
        with start_bare() as bare, start_other() as other:
            for player in (bare, other):
                player.turn()  # it has set itself up
            over = time.monotonic() + max(ROUND_S, time.monotonic() - begin)
            while time.monotonic() < over or not pairs:
                order = (bare, other) if len(pairs) % 2 == 0 else (other, bare)
                took = {}
                for player in order:
                    time.sleep(PAUSE_S)
                    took[player] = player.turn()
                pairs.append(tuple(with_it / alone for with_it, alone in zip(took[other], took[bare])))
            bare.end()
            other.end()
            ended(other)
        rounds.append(pairs)
    return medians(rounds)
