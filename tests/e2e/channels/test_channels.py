"""Channels: which pipe, socket or eventfd bytes went over, when, and who woke whoever waited."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

DEFINED = re.compile(r"define p(\d+) (\d+) channel (\w+)(.*)")
MOVED = re.compile(
    r"([+-][\d.]+) p(\d+) t(\d+) (?:nested )?#\d+ (sent|got) .*?channel (\d+)(?: bytes (\d+)\.\.(\d+) ticks (\d+))?"
    r"(?: left_out (\d+))?$"
)
WAITED = re.compile(r"([+-][\d.]+) p(\d+) t(\d+) (?:nested )?#\d+ wait_exit (\w+) ticks (\d+)(.*)")


@dataclass
class Channel:
    """One definition."""

    kind: str
    inode: int = 0
    peer_inode: int = 0
    peer_pid: int = 0
    local: str = ""
    peer: str = ""


@dataclass
class Moved:
    """A record of bytes that went over a channel."""

    process: int
    thread: int
    way: str
    channel: Channel
    least: int = 0
    most: int = 0
    ticks: int = 0
    left_out: int = 0


@dataclass
class Waited:
    """The end of a wait."""

    thread: int
    call: str
    ticks: int
    channel: Channel | None = None
    poster: int = 0
    before: int = 0


@dataclass
class Told:
    """What a trace says of channels."""

    channels: list[Channel] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    waits: list[Waited] = field(default_factory=list)
    tids: dict[int, int] = field(default_factory=dict)

    def of(self, inode: int, way: str = "") -> list[Moved]:
        return [one for one in self.moved if one.channel.inode == inode and one.way in (way or one.way)]


def channel_of(kind: str, rest: str) -> Channel:
    numbers = {name: int(value) for name, value in re.findall(r" (inode|peer_inode|peer_pid) (\d+)", rest)}
    ends = re.match(r'(?: "([^"]*)")?(?: peer "([^"]*)")?', rest)
    assert ends is not None
    return Channel(kind, **numbers, local=ends[1] or "", peer=ends[2] or "")


def told_by(run: Any) -> Told:
    told, by_id = Told(), {}
    lines = run.dump("--defs")
    for line in lines:
        if found := DEFINED.match(line):
            by_id[int(found[1]), int(found[2])] = channel_of(found[3], found[4])
        elif found := re.match(r"thread t(\d+) p\d+ tid (\d+)", line):
            told.tids[int(found[1])] = int(found[2])
    told.channels = list(by_id.values())
    for line in lines:
        if found := MOVED.match(line):
            key = int(found[2]), int(found[5])
            numbers = (int(found[at] or 0) for at in (6, 7, 8, 9))
            told.moved.append(Moved(key[0], int(found[3]), found[4], by_id[key], *numbers))
        elif found := WAITED.match(line):
            on = re.search(r" on .*?channel (\d+)", found[6])
            poster = re.search(r" poster (\d+) before (\d+)", found[6])
            told.waits.append(
                Waited(
                    int(found[3]),
                    found[4],
                    int(found[5]),
                    by_id[int(found[2]), int(on[1])] if on else None,
                    *((int(poster[1]), int(poster[2])) if poster else ()),
                )
            )
    return told


def numbers_of(text: str) -> list[int]:
    return [int(word) for word in re.findall(r"\b\d+\b", text)]


@pytest.fixture
def traced(inferscope: Any, target: Callable[[str], str]) -> Callable[..., tuple[Told, list[int]]]:
    """traced("pipe", 3) runs a case of channels.c: what was recorded, and the numbers that the program printed."""

    def run(*arguments: str | int, options: tuple[str, ...] = ()) -> tuple[Told, list[int]]:
        options = (*options, "--follow", "all", "--no-memory")
        done = inferscope("run", *options, "--", target("channels.c"), *map(str, arguments))
        assert done.returncode == 0, done.stderr
        assert done.report.overhead.lost == 0
        for line in done.dump():
            if found := re.match(r"account .* produced (\d+) stored (\d+) lost (\d+)", line):
                assert int(found[1]) == int(found[2]) + int(found[3])
        return told_by(done), numbers_of(done.stdout)

    return run


def test_both_ends_of_a_pipe_have_its_inode(traced: Any) -> None:
    told, (inode,) = traced("pipe")
    for way in ("sent", "got"):
        moved = told.of(inode, way)
        assert len(moved) == 3
        assert all(one.channel.kind == "pipe" and one.least <= 5 <= one.most and one.ticks > 0 for one in moved)


def test_ends_of_a_pair_know_each_other(traced: Any) -> None:
    told, (one, other) = traced("pair")
    for inode, peer in ((one, other), (other, one)):
        assert {(moved.channel.kind, moved.channel.peer_inode) for moved in told.of(inode)} == {("unix", peer)}
        assert len(told.of(inode, "sent")) == len(told.of(inode, "got")) == 3


def test_an_eventfd_is_a_channel_and_a_timer_is_none(traced: Any) -> None:
    told, (descriptor,) = traced("eventfd")
    assert len(told.of(descriptor, "sent")) == len(told.of(descriptor, "got")) == 3
    assert {one.channel.kind for one in told.of(descriptor)} == {"eventfd"}
    # What the program printed went into a pipe of the test's.
    assert {channel.kind for channel in told.channels} <= {"eventfd", "pipe"}


def test_ends_of_tcp_have_each_others_addresses(traced: Any) -> None:
    told, (port,) = traced("tcp")
    ends = {(c.local, c.peer) for c in told.channels if c.kind == "tcp" and c.peer}
    assert len(ends) == 2
    assert {(peer, local) for local, peer in ends} == ends
    server = f"127.0.0.1:{port}"
    sent = [one for one in told.moved if one.channel.peer == server and one.way == "sent"]
    got = [one for one in told.moved if one.channel.local == server and one.way == "got"]
    assert len(sent) == 3 and len(got) >= 1
    assert {one.thread for one in sent} != {one.thread for one in got}


def test_a_wait_says_on_which_channel(traced: Any) -> None:
    told, (port,) = traced("tcp")
    server = f"127.0.0.1:{port}"
    accepted = [wait for wait in told.waits if wait.call == "accept"]
    assert accepted and all(wait.channel and wait.channel.local == server for wait in accepted)
    assert not any(wait.channel.peer for wait in accepted)  # it listens
    received = [wait for wait in told.waits if wait.call == "recv" and wait.channel]
    assert {wait.channel.kind for wait in received} == {"tcp"}
    assert any(wait.channel.local == server for wait in received)


def test_a_unix_socket_has_its_path_and_the_process_at_the_other_end(traced: Any) -> None:
    told, (number, pid) = traced("unix")
    path = f"/tmp/channels-{number}"
    served = [one for one in told.moved if one.channel.local == path]
    asked = [one for one in told.moved if one.channel.peer == path]
    assert len(asked) >= 4 and len(served) >= 2
    assert {one.channel.peer_pid for one in served + asked} == {pid}


def test_a_socket_that_is_connected_later_leads_elsewhere(traced: Any) -> None:
    told, (first, second) = traced("udp")
    local, peer = f"127.0.0.1:{first}", f"127.0.0.1:{second}"
    assert [one.channel.peer for one in told.moved if one.channel.local == local] == ["", peer]
    assert len([one for one in told.moved if one.channel.local == peer and one.way == "got"]) == 2


def test_every_call_that_moves_bytes_is_told(traced: Any) -> None:
    told, (one, other, pipe) = traced("calls")
    assert len(told.of(one, "sent")) == 7  # splice is one of them
    assert len(told.of(other, "got")) == 7
    assert len(told.of(pipe, "sent")) == len(told.of(pipe, "got")) == 1
    assert all(moved.least <= 4 <= moved.most for moved in told.of(one) + told.of(other) + told.of(pipe))


def test_a_descriptor_that_is_replaced_leads_elsewhere(traced: Any) -> None:
    told, inodes = traced("replaced")
    for inode, size in zip(inodes, (1, 2, 4)):
        assert [(one.least, one.way) for one in told.of(inode)] == [(size, "sent")]


def test_a_number_that_is_given_out_again_is_another_channel(traced: Any) -> None:
    told, (first, second, third) = traced("reused")
    assert len(told.of(first)) == 2
    # Closed by a raw system call: some of the third pipe's are still told of the second, until it is looked at again.
    behind = len(told.of(second)) - 2
    assert behind <= 2 * 64
    assert len(told.of(third)) == 400 - behind
    told, (first, second) = traced("ranged")
    assert len(told.of(first)) == len(told.of(second)) == 2


def test_a_child_shares_the_pipe(traced: Any) -> None:
    told, (inode, child) = traced("forked")
    sent, got = told.of(inode, "sent"), told.of(inode, "got")
    assert len(sent) == len(got) == 6
    assert [told.tids[one.thread] == child for one in sent] == [False] * 3 + [True] * 3
    assert len({one.process for one in got}) == 1


def test_of_ten_thousand_descriptors_none_is_lost(traced: Any) -> None:
    """They come faster than the recorder can make room for their definitions: the last may have to share one."""
    told, (count,) = traced("many", 5000, options=("--budget", "off"))
    for way in ("sent", "got"):
        moved = [one.channel.inode for one in told.moved if one.way == way and one.channel.kind == "pipe"]
        own = {inode for inode in moved if inode != 0}
        assert len(moved) >= count
        assert len(own) >= 2000
        assert len(moved) - len(own) - moved.count(0) <= 2  # what the program prints goes into a pipe too


def test_a_channel_of_two_threads_is_one(traced: Any) -> None:
    told, (inode,) = traced("threads", 20)
    sent = told.of(inode, "sent")
    assert len(sent) == 40 and len({one.thread for one in sent}) == 2
    assert len(told.of(inode, "got")) == 40


@pytest.mark.parametrize("budget", ["off", "0.1"])
def test_what_is_left_out_is_counted(traced: Any, budget: str) -> None:
    told, (inode,) = traced("storm", 200_000, options=("--budget", budget))
    for way in ("sent", "got"):
        moved = told.of(inode, way)
        left_out = sum(one.left_out for one in moved)
        assert sum(one.most > 0 for one in moved) + left_out == 200_000
        assert (left_out == 0) == (budget == "off")


@pytest.mark.parametrize("case", ["sem", "cond", "broadcast"])
def test_who_posted_is_told(traced: Any, case: str) -> None:
    told, (poster, waiter) = traced(case, 5)
    call = "sem" if case == "sem" else "cond"
    waits = [wait for wait in told.waits if wait.call == call and told.tids[wait.thread] == waiter]
    woken = [wait for wait in waits if wait.poster]
    assert {wait.poster for wait in woken} == {poster}
    assert len(woken) == 5
    assert all(wait.before < wait.ticks for wait in woken)
    assert len(waits) == (5 if case == "sem" else 6)  # one was over before anybody had posted


THREADS = """
import threading, time
ready, queue = threading.Event(), []
def posts():
    for _ in range(5):
        time.sleep(0.03)
        with condition:
            queue.append(1)
            condition.notify()
condition = threading.Condition()
thread = threading.Thread(target=posts)
thread.start()
with condition:
    for _ in range(5):
        while not queue: condition.wait()
        queue.pop()
print(thread.native_id, threading.get_native_id())
thread.join()
"""


def test_a_condition_of_python_has_its_poster(inferscope: Any, python: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(THREADS)
    run = inferscope("run", "--no-sample", "--python", python, script)
    assert run.returncode == 0, run.stderr
    poster, waiter = numbers_of(run.stdout)
    told = told_by(run)
    woken = [wait for wait in told.waits if wait.poster and told.tids[wait.thread] == waiter]
    assert sum(wait.poster == poster for wait in woken) >= 5


SERVER = """
import asyncio, threading
async def answer(reader, writer):
    while await reader.read(4):
        writer.write(b"pong")
    writer.close()
async def ask(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(10):
        writer.write(b"ping")
        await reader.readexactly(4)
    writer.close()
async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(port, flush=True)
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(asyncio.to_thread(lambda: asyncio.run(ask(port))) for _ in range(3)))
    server.close()
asyncio.run(main())
"""


def test_requests_of_asyncio_are_matched_by_their_addresses(inferscope: Any, python: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(SERVER)
    run = inferscope("run", "--no-sample", "--budget", "off", "--python", python, script)
    assert run.returncode == 0, run.stderr
    told, server = told_by(run), f"127.0.0.1:{run.stdout.strip()}"
    clients = {one.channel.local for one in told.moved if one.channel.peer == server}
    assert len(clients) == 3
    for client in clients:
        for way, back in (("sent", "got"), ("got", "sent")):
            mine = [one for one in told.moved if one.channel.local == client and one.way == way]
            theirs = [one for one in told.moved if one.channel.peer == client and one.way == back]
            assert len(mine) == len(theirs) == 10
    # The loop is woken by its own pair when a thread is done.
    assert any(one.channel.kind == "unix" and one.channel.peer_inode and one.way == "sent" for one in told.moved)


CASES = ["pipe", "eventfd", "tcp", "calls", "replaced", "threads", "sem", "cond"]


@pytest.mark.parametrize("case", CASES)
def test_the_program_prints_the_same(inferscope: Any, target: Callable[[str], str], case: str) -> None:
    """But for the numbers that the kernel gives."""
    program = target("channels.c")
    bare = subprocess.run([program, case], capture_output=True, text=True, timeout=60, check=False)
    run = inferscope("run", "--", program, case)
    assert run.returncode == bare.returncode == 0
    assert re.sub(r"\d+", "N", run.stdout) == re.sub(r"\d+", "N", bare.stdout)
    assert run.theirs == bare.stderr


def test_without_hooks_nothing_is_told_of_channels(inferscope: Any, target: Callable[[str], str]) -> None:
    for option in ("--no-agent", "--no-syscalls"):
        run = inferscope("run", option, "--", target("channels.c"), "pipe")
        assert run.returncode == 0
        assert not [line for line in run.dump("--defs") if " channel " in line]
