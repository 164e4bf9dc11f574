"""Find the passage that is nearest to a question: search_slow.py as docs/tutorial.md leaves it.

inferscope run examples/search_fast.py
"""

from __future__ import annotations

import math
import operator
import random
import zlib

from inferscope import scope

WIDTH, PASSAGES, REQUESTS = 256, 500, 60
WORDS = "token layer cache batch kernel copy thread lock page fault queue request model weight head mask"


def embed(text: str) -> list[float]:
    """Words to a vector: each word and its neighbour add to one place."""
    vector = [0.0] * WIDTH
    words = text.split()
    for pair in zip(words, words[1:]):
        vector[zlib.crc32(" ".join(pair).encode()) % WIDTH] += 1.0
    return vector


def dot(a: list[float], b: list[float]) -> float:
    return sum(map(operator.mul, a, b))


def norm(vector: list[float]) -> float:
    return math.sqrt(dot(vector, vector))


def unit(vector: list[float]) -> list[float]:
    """Of length one, so that the cosine of two is their product."""
    length = norm(vector)
    return [x / length for x in vector]


def nearest(index: list[list[float]], vector: list[float]) -> int:
    scores = [dot(vector, passage) for passage in index]
    return scores.index(max(scores))


def answer(index: list[list[float]], question: str) -> int:
    with scope("request"):
        with scope("embed"):
            vector = unit(embed(question))
        with scope("search"):
            return nearest(index, vector)


def main() -> None:
    chance = random.Random(1)
    texts = [" ".join(chance.choices(WORDS.split(), k=24)) for _ in range(PASSAGES)]
    with scope("index"):
        index = [unit(embed(text)) for text in texts]
    found = sum(answer(index, texts[i % PASSAGES]) == i % PASSAGES for i in range(REQUESTS))
    print(f"{found} of {REQUESTS} found their passage")


if __name__ == "__main__":
    main()
