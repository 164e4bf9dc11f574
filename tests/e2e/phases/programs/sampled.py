"""For --no-python: imports, loads and serves for so long that samples tell them apart."""

from told import heavy, spin, tell

heavy(0.4)
tell("imported")


def load() -> None:
    spin(0.4)


def request(i: int) -> None:
    spin(0.02)


def serve() -> None:
    for i in range(60):
        request(i)


load()
tell("served_from")
serve()
tell("served_to")
tell("left")
