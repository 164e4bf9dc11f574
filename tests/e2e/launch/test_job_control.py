"""A terminal and an interactive shell: every key and every job command does what it does without us."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.launch.launching import Terminal, eventually, stat_fields, terminal
else:
    from launching import Terminal, eventually, stat_fields, terminal

Wrap = list[str]
Scene = Callable[[Terminal], None]
SLEEP = "sh -c 'echo ready; exec sleep 100'"


def same(wrap: Wrap, scene: Scene) -> list[str]:
    """Plays the scene bare and launched: the screens must be the same."""
    screens = []
    for words in ([], wrap):
        with terminal(words) as on:
            scene(on)
            screens.append(on.seen())
    assert lines(screens[1]) == lines(screens[0])
    return screens[0]


def lines(screen: list[str]) -> list[str]:
    """Without prompts: whether the shell prints one before or after what a job says is the scheduler's whim."""
    bare = (line.replace(Terminal.PROMPT, "") for line in screen)
    return [line for line in bare if line.strip()]


def start(on: Terminal, program: str) -> None:
    on.type(f"$W {program}", "(?m)^ready.*\n")
    on.in_front()


def test_stop_background_foreground_interrupt(wrap: Wrap) -> None:
    def scene(on: Terminal) -> None:
        start(on, SLEEP)
        on.key("Z")
        on.type("jobs -l")
        on.type("bg")
        on.type("jobs -l")
        on.type("fg", "sleep 100'\n")
        on.in_front()
        on.key("C")
        on.type("echo rc=$?")

    screen = same(wrap, scene)
    assert any("Stopped" in line for line in screen)
    assert any("Running" in line for line in screen)
    assert "rc=130" in screen


def test_stopped_again_and_again(wrap: Wrap) -> None:
    def scene(on: Terminal) -> None:
        start(on, SLEEP)
        for _ in range(5):
            on.key("Z")
            on.type("fg", "sleep 100'\n")
            on.in_front()
        on.key("C")
        on.type("echo rc=$?")

    assert "rc=130" in same(wrap, scene)


def test_quit_key(wrap: Wrap) -> None:
    def scene(on: Terminal) -> None:
        on.type("ulimit -c 0")
        start(on, SLEEP)
        on.key("\\")
        on.type("echo rc=$?")

    assert "rc=131" in same(wrap, scene)


def test_an_interrupt_ends_a_loop(wrap: Wrap) -> None:
    def scene(on: Terminal) -> None:
        on.type(f"for i in 1 2 3; do $W {SLEEP}; echo it$i; done", "(?m)^ready\n")
        on.in_front()
        on.key("C")
        on.type(f'bash -c "for i in 1 2 3; do $W {SLEEP}; echo it; done"', "(?m)^ready\n")
        on.in_front()
        on.key("C")
        on.type("echo rc=$?")

    screen = same(wrap, scene)
    assert "rc=130" in screen
    assert "it2" not in screen


def test_reading_from_the_terminal(wrap: Wrap) -> None:
    def scene(on: Terminal) -> None:
        on.type("$W cat", "(?m)cat\n")
        on.in_front()
        on.type("hello", "hello\nhello\n")
        on.key("D")
        on.type("echo rc=$?")

    assert "rc=0" in same(wrap, scene)


def test_reading_in_the_background_stops(wrap: Wrap) -> None:
    def scene(on: Terminal) -> None:
        on.type("set -b", None)
        on.type("$W cat &", "Stopped.*\n")
        # Not the prompt, of which one may still come for the job that stopped.
        on.type("jobs -l", "tty input.*\n")
        on.type("fg", "(?m)cat\n")
        on.in_front()
        on.type("hello", "hello\nhello\n")
        on.key("D")
        on.type("echo rc=$?")

    assert any("tty input" in line for line in same(wrap, scene))


def test_a_program_that_tidies_up_before_it_stops(wrap: Wrap, target: Callable[[str], str]) -> None:
    """As editors do: the shell must not take the terminal before."""

    def scene(on: Terminal) -> None:
        start(on, f"{target('signal_log.c')} polite")
        on.key("Z")
        on.type("fg", "(?m)^back\n")
        on.in_front()
        on.key("Z")
        on.type("fg", "(?m)^back\n")
        on.in_front()
        on.key("C")
        on.type("echo rc=$?")

    screen = same(wrap, scene)
    assert "rc=130" in screen
    assert [line for line in screen if line.endswith("tidied")] == ["^Ztidied"] * 2


def test_a_program_that_ignores_stop_keeps_the_terminal(wrap: Wrap, target: Callable[[str], str]) -> None:
    def scene(on: Terminal) -> None:
        start(on, f"{target('signal_log.c')} deaf")
        os.write(on.fd, b"\x1a")
        on.until("\\^Z")
        on.key("C")
        on.type("echo rc=$?; jobs")

    screen = same(wrap, scene)
    assert "rc=130" in screen
    assert not any("Stopped" in line for line in screen)


def test_a_program_that_stops_itself_is_a_stopped_job(wrap: Wrap) -> None:
    def scene(on: Terminal) -> None:
        on.type("$W sh -c 'kill -STOP $$; echo on; exit 4'")
        on.type("jobs -l")
        on.type("fg")
        on.type("echo rc=$?")

    screen = same(wrap, scene)
    assert any("Stopped (signal)" in line for line in screen)
    assert "rc=4" in screen


def test_kill_of_a_job(wrap: Wrap) -> None:
    """When bash tells of it is up to chance, so only the outcome is compared."""
    for words in ([], wrap):
        with terminal(words) as on:
            start(on, SLEEP)
            on.key("Z")
            on.type("bg")
            on.type("kill %1; wait %1; echo rc=$?", "(?m)^rc=.*\n")
            assert "rc=143" in on.seen()


def test_the_windows_size_is_told_once(wrap: Wrap, target: Callable[[str], str]) -> None:
    def scene(on: Terminal) -> None:
        on.resize(30, 90)
        start(on, f"{target('signal_log.c')} {signal.SIGWINCH.value} 10")
        on.resize(40, 100)
        on.until("got 28 kernel 0\n")
        os.killpg(os.tcgetpgrp(on.fd), 10)
        on.until("got 10 user 0\n")
        os.killpg(os.tcgetpgrp(on.fd), 63)
        on.until(on.PROMPT)

    screen = same(wrap, scene)
    assert screen.count("got 28 kernel 0") == 1
    assert screen.count("got 10 user 0") == 1


def test_a_hangup_ends_the_program(wrap: Wrap) -> None:
    on = Terminal(wrap)
    on.type("$W sh -c 'echo ready $$; exec sleep 100'", "(?m)^ready (\\d+)\n")
    program = int(on.text[: on.at].split()[-1])
    assert stat_fields(program)
    os.close(on.fd)
    os.waitpid(on.pid, 0)
    eventually(lambda: not stat_fields(program), "the program's end")
