"""What is done to each item is called by map()."""

from told import REQUEST, heavy, spin, tell

heavy(0.25)
tell("imported")


def embed(text: str) -> int:
    spin(REQUEST)
    return len(text)


tell("served_from")
list(map(embed, ["text"] * 40))
tell("served_to")
spin(0.15)
tell("left")
