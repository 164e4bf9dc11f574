"""The first request imports what it needs, and a later one something else."""

from told import REQUEST, heavy, spin, tell

heavy(0.25)
tell("imported")


def handle(i: int) -> None:
    if i == 0:
        heavy(0.2, "first_needed")
    if i == 25:
        heavy(0.1, "later_needed")
    spin(REQUEST)


def main() -> None:
    tell("warm_from")
    for i in range(45):
        if i == 1:
            tell("warm_to")
            tell("served_from")
        handle(i)
    tell("served_to")


main()
tell("left")
