"""A loop inside a loop: epochs of batches."""

from told import REQUEST, heavy, spin, tell

heavy(0.25)
tell("imported")


def batch(i: int) -> None:
    spin(REQUEST)


def epoch(n: int) -> None:
    for i in range(10):
        batch(i)


def train() -> None:
    spin(0.2)
    tell("served_from")
    for n in range(5):
        epoch(n)
    tell("served_to")


train()
tell("left")
