"""The program is over at once, and its threads serve on."""

import threading

from told import REQUEST, heavy, spin, tell

heavy(0.25)
tell("imported")
told = threading.Lock()
open_threads = 3


def request(i: int) -> None:
    spin(REQUEST)


def serve() -> None:
    global open_threads
    for i in range(25):
        request(i)
    with told:
        open_threads -= 1
        if open_threads == 0:
            tell("served_to")
            tell("left")


tell("served_from")
for _ in range(open_threads):
    threading.Thread(target=serve).start()
