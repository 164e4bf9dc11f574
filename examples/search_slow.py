"""Find the passage that is nearest to a question.  Slower than it need be: docs/tutorial.md finds out why.

inferscope run examples/search_slow.py
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


def cosine(a: list[float], b: list[float]) -> float:
    return dot(a, b) / (norm(a) * norm(b))


def nearest(index: list[list[float]], vector: list[float]) -> int:
    scores = [cosine(vector, passage) for passage in index]
    return scores.index(max(scores))


def answer(index: list[list[float]], question: str) -> int:
    with scope("request"):
        with scope("embed"):
            vector = embed(question)
        with scope("search"):
            return nearest(index, vector)


def main() -> None:
    chance = random.Random(1)
    texts = [" ".join(chance.choices(WORDS.split(), k=24)) for _ in range(PASSAGES)]
    with scope("index"):
        index = [embed(text) for text in texts]
    found = sum(answer(index, texts[i % PASSAGES]) == i % PASSAGES for i in range(REQUESTS))
    print(f"{found} of {REQUESTS} found their passage")


if __name__ == "__main__":
    main()
