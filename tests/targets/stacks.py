"""Programs that use much of their stack, or have little of it: stacks.py NAME [NUMBER]."""

import ctypes
import functools
import json
import mmap
import re
import signal
import sys
import threading

NUMBER = int(sys.argv[2]) if len(sys.argv) > 2 else 0
sys.setrecursionlimit(1_000_000)


def down(n):
    return 0 if n == 0 else 1 + down(n - 1)


def plain():
    """Python frames alone."""
    print(down(NUMBER), down(10), down(NUMBER))


def until_the_limit():
    """RecursionError where it comes without us, and the program goes on."""
    for limit in (500, NUMBER):
        sys.setrecursionlimit(limit)
        deepest = 0

        def fall(n):
            nonlocal deepest
            deepest = n
            fall(n + 1)

        try:
            fall(0)
        except RecursionError as error:
            print(limit, deepest, error)


def generators():
    """Generators that delegate to one another."""

    def nest(n):
        if n > 0:
            yield from nest(n - 1)
        yield n

    print(sum(nest(NUMBER)))


class Key:
    """Python called by C called by Python: comparisons in sorted()."""

    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        return self.n == 0 or len(sorted([Key(self.n - 1), Key(self.n - 1)])) == 2


def by_comparing():
    print(Key(NUMBER) < Key(NUMBER))


def by_mapping():
    def nest(n):
        return 0 if n == 0 else next(map(nest, [n - 1])) + 1

    print(nest(NUMBER))


def by_substituting():
    def nest(n):
        return "x" if n == 0 else re.sub("a", lambda got: nest(n - 1), "a")

    print(nest(NUMBER))


def by_reducing():
    def nest(n):
        return n if n == 0 else functools.reduce(lambda a, b: nest(n - 1), [1, 2])

    print(nest(NUMBER))


def by_calling_back():
    """Through ctypes, which takes the GIL again at every level."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)

    def nest(n):
        return 0 if n == 0 else back(n - 1) + 1

    back = kind(nest)
    print(nest(NUMBER))


def by_parsing():
    def hook(found):
        n = found["n"]
        return n if n == 0 else json.loads(json.dumps({"n": n - 1}), object_hook=hook) + 1

    print(json.loads(json.dumps({"n": NUMBER}), object_hook=hook))


def small_threads():
    """NUMBER KiB of stack each; as deep as is safe without us."""
    threading.stack_size(NUMBER << 10)
    frames = {"small": 10, "large": NUMBER // 4}["large" if NUMBER >= 64 else "small"]
    said = []

    def run():
        said.append(down(frames))

    for _ in range(3):
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(set(said), len(said))


class Stack(ctypes.Structure):
    _fields_ = (("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


class Action(ctypes.Structure):
    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


def alternate_stack():
    """Python in a C signal handler, on an alternate stack of NUMBER KiB."""
    libc = ctypes.CDLL(None)
    room = mmap.mmap(-1, NUMBER << 10)
    stack = Stack(ctypes.addressof(ctypes.c_char.from_buffer(room)), 0, NUMBER << 10)
    said = []

    @ctypes.CFUNCTYPE(None, ctypes.c_int)
    def handler(number):
        said.append(down(5))

    action = Action(ctypes.cast(handler, ctypes.c_void_p).value, (ctypes.c_ulong * 16)(), 0x08000000, None)
    assert libc.sigaltstack(ctypes.byref(stack), None) == 0
    assert libc.sigaction(signal.SIGUSR1, ctypes.byref(action), None) == 0
    raise_signal = ctypes.PyDLL(None)["raise"]  # with the GIL held
    for _ in range(100):
        raise_signal(signal.SIGUSR1)
        down(20)
    print(len(said), set(said))
    assert libc.sigaltstack(ctypes.byref(Stack(None, 2, 0)), None) == 0


if __name__ == "__main__":
    globals()[sys.argv[1]]()
