"""A small transformer encoder in numpy: the shape of MiniLM, weights from a fixed seed.

    inferscope run --report slow.html examples/transformer_numpy.py [REQUESTS]    # encodes all rows for every request
    inferscope run --report transformer.html examples/transformer_numpy.py --fixed    # once, at the start

Needs numpy alone.  Each request is a row of token numbers; it goes through the encoder, and the nearest of
the rows that were encoded at the start is its answer.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices: threads would wait more than they compute

import numpy as np
from inferscope import scope

VOCABULARY, WIDTH, HEADS, LAYERS, LONGEST = 4096, 192, 6, 6, 64


class Linear:
    def __init__(self, random: np.random.Generator, inputs: int, outputs: int) -> None:
        self.weight = random.standard_normal((inputs, outputs), dtype=np.float32) / np.float32(inputs**0.5)
        self.bias = np.zeros(outputs, dtype=np.float32)

    def forward(self, x: np.ndarray) -> np.ndarray:
        return x @ self.weight + self.bias


class LayerNorm:
    def forward(self, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-5))


class SelfAttention:
    def __init__(self, random: np.random.Generator) -> None:
        self.qkv = Linear(random, WIDTH, 3 * WIDTH)
        self.out = Linear(random, WIDTH, WIDTH)

    def forward(self, x: np.ndarray) -> np.ndarray:
        q, k, v = (self.split(part) for part in np.split(self.qkv.forward(x), 3, axis=-1))
        weights = softmax(q @ k.swapaxes(1, 2) / np.float32((WIDTH // HEADS) ** 0.5))
        return self.out.forward((weights @ v).swapaxes(0, 1).reshape(x.shape))

    @staticmethod
    def split(x: np.ndarray) -> np.ndarray:
        """Tokens by width to heads by tokens by width of a head."""
        return x.reshape(len(x), HEADS, -1).swapaxes(0, 1)


class FeedForward:
    def __init__(self, random: np.random.Generator) -> None:
        self.up = Linear(random, WIDTH, 4 * WIDTH)
        self.down = Linear(random, 4 * WIDTH, WIDTH)

    def forward(self, x: np.ndarray) -> np.ndarray:
        return self.down.forward(gelu(self.up.forward(x)))


class EncoderLayer:
    def __init__(self, random: np.random.Generator) -> None:
        self.attention = SelfAttention(random)
        self.feed_forward = FeedForward(random)
        self.norm = LayerNorm()

    def forward(self, x: np.ndarray) -> np.ndarray:
        x = self.norm.forward(x + self.attention.forward(x))
        return self.norm.forward(x + self.feed_forward.forward(x))


class Encoder:
    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.words = random.standard_normal((VOCABULARY, WIDTH), dtype=np.float32)
        self.places = random.standard_normal((LONGEST, WIDTH), dtype=np.float32) / np.float32(10)
        self.layers = [EncoderLayer(random) for _ in range(LAYERS)]

    def encode(self, tokens: np.ndarray) -> np.ndarray:
        """One row of tokens to a unit vector."""
        x = self.words[tokens] + self.places[: len(tokens)]
        for layer in self.layers:
            with scope("layer"):
                x = layer.forward(x)
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu(x: np.ndarray) -> np.ndarray:
    return (
        x * np.float32(0.5) * (np.float32(1) + np.tanh(np.float32(0.7978846) * (x + np.float32(0.044715) * x * x * x)))
    )


def encode_all(encoder: Encoder, rows: list[np.ndarray]) -> np.ndarray:
    with scope("index"):
        return np.stack([encoder.encode(row) for row in rows])


def answer(encoder: Encoder, index: np.ndarray | None, rows: list[np.ndarray], tokens: np.ndarray) -> int:
    with scope("request"):
        if index is None:
            index = encode_all(encoder, rows)
        with scope("forward"):
            vector = encoder.encode(tokens)
        with scope("search"):
            return int((index @ vector).argmax())


def main() -> None:
    given = [word for word in sys.argv[1:] if word != "--fixed"]
    requests = int(given[0]) if given else 64
    random = np.random.default_rng(7)
    rows = [random.integers(0, VOCABULARY, random.integers(8, LONGEST)) for _ in range(12)]
    with scope("load"):
        encoder = Encoder(seed=1)
    index = encode_all(encoder, rows) if "--fixed" in sys.argv[1:] else None
    right = 0
    for i in range(requests):
        asked = rows[i % len(rows)].copy()
        asked[random.integers(0, len(asked))] = random.integers(0, VOCABULARY)  # one word is another
        right += answer(encoder, index, rows, asked) == i % len(rows)
    print(f"{requests} requests answered, {right} found their row")


if __name__ == "__main__":
    main()
