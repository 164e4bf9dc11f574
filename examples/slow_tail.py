"""A server whose every 20th request is slow.  Its fault: one of ten steps, drawn by a seed, takes four times as long.

inferscope run --report tail.html examples/slow_tail.py --seed 7            # which step is it?
inferscope run --report tail.html examples/slow_tail.py --seed 7 --fixed    # every request takes the same

The report says why slow requests are slow; the program's last line says which step it was.
"""

from __future__ import annotations

import random
import sys

from inferscope import scope

REQUESTS, EVERY, ROUNDS = 600, 20, 5000
WORDS = ("batch", "cache", "kernel", "layer", "logits", "prompt", "queue", "token")


def fold(word: str, seed: int) -> int:
    """A small function, called very often: a tokeniser or a feature store has hundreds of these."""
    return (seed * 31 + len(word) + ord(word[0])) & 0xFFFF


def parse(seed: int, rounds: int) -> int:
    for i in range(rounds):
        seed = (seed * 31 + i) & 0xFFFF
        if i % 16 == 0:
            seed = fold(WORDS[i // 16 % 8], seed)
    return seed


def authorise(seed: int, rounds: int) -> int:
    for i in range(rounds):
        seed = seed ^ i * 7 & 0xFFFF
        if i % 16 == 0:
            seed = fold(WORDS[i // 16 % 8], seed)
    return seed


def normalise(seed: int, rounds: int) -> int:
    for i in range(rounds):
        seed = (seed + i * i) & 0xFFFF
        if i % 16 == 0:
            seed = fold(WORDS[i // 16 % 8], seed)
    return seed


def tokenise(seed: int, rounds: int) -> int:
    for i in range(rounds):
        seed = (seed << 1 ^ i) & 0xFFFF
        if i % 16 == 0:
            seed = fold(WORDS[i // 16 % 8], seed)
    return seed


def look_up(seed: int, rounds: int) -> int:
    for i in range(rounds):
        seed = seed * 5 + i & 0xFFFF
        if i % 16 == 0:
            seed = fold(WORDS[i // 16 % 8], seed)
    return seed


def embed(seed: int, rounds: int) -> int:
    for i in range(rounds):
        seed = seed + (i ^ seed) & 0xFFFF
        if i % 16 == 0:
            seed = fold(WORDS[i // 16 % 8], seed)
    return seed


def rank(seed: int, rounds: int) -> int:
    for i in range(rounds):
        seed = (seed - i * 3) & 0xFFFF
        if i % 16 == 0:
            seed = fold(WORDS[i // 16 % 8], seed)
    return seed


def filter_out(seed: int, rounds: int) -> int:
    for i in range(rounds):
        seed = (seed | i) * 3 & 0xFFFF
        if i % 16 == 0:
            seed = fold(WORDS[i // 16 % 8], seed)
    return seed


def render(seed: int, rounds: int) -> int:
    for i in range(rounds):
        seed = (seed >> 1) + i * 11 & 0xFFFF
        if i % 16 == 0:
            seed = fold(WORDS[i // 16 % 8], seed)
    return seed


def record(seed: int, rounds: int) -> int:
    for i in range(rounds):
        seed = ~seed + i & 0xFFFF
        if i % 16 == 0:
            seed = fold(WORDS[i // 16 % 8], seed)
    return seed


STEPS = (parse, authorise, normalise, tokenise, look_up, embed, rank, filter_out, render, record)


def answer(number: int, slow: int) -> int:
    seed = number
    with scope("request"):
        for i, step in enumerate(STEPS):
            seed = step(seed, 4 * ROUNDS if i == slow else ROUNDS)
    return seed


def main(seed: int, fixed: bool) -> None:
    fault = random.Random(seed).randrange(len(STEPS))
    total = 0
    for number in range(REQUESTS):
        total += answer(number, fault if number % EVERY == EVERY - 1 and not fixed else -1)
    print(f"{REQUESTS} requests answered ({total & 0xFFFF:04x})")
    print("no request was slow" if fixed else f"every {EVERY}th request was slow in {STEPS[fault].__name__}")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(int(arguments[arguments.index("--seed") + 1]) if "--seed" in arguments else 0, "--fixed" in arguments)
