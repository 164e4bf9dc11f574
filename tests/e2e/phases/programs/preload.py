"""Imports and loads, then forks its workers, as gunicorn does with --preload."""

import os
import sys

from told import REQUEST, heavy, spin, tell

heavy(0.25)
tell("imported")
spin(0.2)


def request(i: int) -> None:
    spin(REQUEST)


def work() -> None:
    tell("forked")
    spin(0.15)
    tell("served_from")
    for i in range(30):
        request(i)
    tell("served_to")


def main() -> None:
    workers = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            work()
            sys.stdout.flush()
            os._exit(0)
        workers.append(pid)
    for pid in workers:
        os.waitpid(pid, 0)
    tell("left")


main()
