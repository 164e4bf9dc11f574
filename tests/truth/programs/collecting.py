"""Large graphs of objects are collected again and again."""

import gc
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, native, truth

pauses = Clock()


def watch(phase: str, _: "dict[str, int]") -> None:
    if phase == "start":
        pauses.__enter__()
    else:
        pauses.__exit__()


class Node:
    def __init__(self, other: "Node | None") -> None:
        self.other = other
        self.mine = [self]


def build() -> None:
    node = None
    for _ in range(4000):
        node = Node(node)


kept = [[i, [i]] for i in range(150000)]
gc.set_threshold(700, 2, 2)
gc.callbacks.append(watch)
if FIXED:
    gc.disable()
all_of_it = Clock()
end = time.perf_counter() + SECONDS
pauses.spent = 0
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        build()
        native(4)
gc.callbacks.remove(watch)
truth("gc_pauses", pauses.spent / all_of_it.spent * 100, one=all_of_it.mean)
