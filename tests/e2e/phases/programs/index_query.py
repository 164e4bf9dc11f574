"""Two jobs, one after the other: it builds an index, then answers queries for longer."""

from told import REQUEST, heavy, spin, tell

heavy(0.25)
tell("imported")


def add(i: int) -> None:
    spin(REQUEST)


def answer(i: int) -> None:
    spin(REQUEST * 1.5)


def build() -> None:
    for i in range(35):
        add(i)


def serve() -> None:
    for i in range(60):
        answer(i)


tell("indexed_from")
build()
tell("indexed_to")
tell("served_from")
serve()
tell("served_to")
tell("left")
