"""Imports, loads a model, generates once: the steps inside are its units."""

from told import REQUEST, heavy, spin, tell

heavy(0.3)
tell("imported")


def load() -> None:
    spin(0.25)


def step(i: int) -> None:
    spin(REQUEST)


def generate() -> None:
    for i in range(40):
        step(i)


load()
tell("served_from")
generate()
tell("served_to")
tell("left")
