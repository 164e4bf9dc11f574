"""Crowds whose calls are traced: crowd.py forks|spawns|threads NUMBER."""

import os
import subprocess
import sys
import threading

NUMBER = int(sys.argv[2])
SPAWNED = "def leaf(x): return x\ndef in_child():\n    for i in range(5): leaf(i)\nin_child()\nprint('x', end='')"


def leaf(x):
    return x


def in_child():
    for i in range(5):
        leaf(i)


def forks():
    """A process for each, ten at a time."""
    ended = 0
    alive = set()
    while ended < NUMBER:
        while len(alive) < 10 and ended + len(alive) < NUMBER:
            pid = os.fork()
            if pid == 0:
                in_child()
                os._exit(0)
            alive.add(pid)
        pid, status = os.wait()
        assert status == 0
        alive.remove(pid)
        ended += 1
    print("children", ended)


def spawns():
    """An interpreter for each, one after the other."""
    for _ in range(NUMBER):
        assert subprocess.check_output([sys.executable, "-c", SPAWNED]) == b"x"
    print("children", NUMBER)


def threads():
    """All at once, and all calling."""
    threading.stack_size(256 << 10)
    barrier = threading.Barrier(NUMBER)

    def run():
        barrier.wait()
        in_child()
        barrier.wait()

    crowd = [threading.Thread(target=run) for _ in range(NUMBER)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    print("threads", len(crowd))


globals()[sys.argv[1]]()
