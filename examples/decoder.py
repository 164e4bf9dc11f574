"""A decoder that writes token by token.  Its fault: it computes the keys and values of all earlier tokens again.

inferscope run --report decoder.html examples/decoder.py            # slow
inferscope run --report decoder.html examples/decoder.py --fixed    # with a cache of keys and values
"""

from __future__ import annotations

import sys

import numpy as np
from inferscope import counter, scope

WIDTH, HEADS, LAYERS, TOKENS, REQUESTS = 128, 4, 4, 48, 24
rng = np.random.default_rng(7)
WEIGHTS = [
    {name: rng.normal(0, 0.05, (WIDTH, WIDTH)) for name in ("q", "k", "v", "out", "up", "down")} for _ in range(LAYERS)
]


def split(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), HEADS, -1).transpose(1, 0, 2)


def attend(layer: dict[str, np.ndarray], x: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The newest token looks at all that are there."""
    query = split(x[-1:] @ layer["q"])
    scores = np.exp(query @ split(keys).transpose(0, 2, 1) / np.sqrt(WIDTH / HEADS))
    mixed = (scores / scores.sum(-1, keepdims=True)) @ split(values)
    return mixed.transpose(1, 0, 2).reshape(1, WIDTH) @ layer["out"]


def step(inputs: list[np.ndarray], cache: list[tuple[np.ndarray, np.ndarray]] | None) -> np.ndarray:
    """One token more; inputs: what each layer has seen so far."""
    new = inputs[0][-1:]
    for i, layer in enumerate(WEIGHTS):
        if cache is None:
            keys, values = inputs[i] @ layer["k"], inputs[i] @ layer["v"]  # every token, in every step
        else:
            keys, values = (np.vstack([old, new @ layer[name]]) for old, name in zip(cache[i], "kv"))
            cache[i] = keys, values
        new = new + attend(layer, inputs[i], keys, values)
        new = new + np.maximum(new @ layer["up"], 0) @ layer["down"]
        if i + 1 < LAYERS:
            inputs[i + 1] = np.vstack([inputs[i + 1], new])
    return new


def generate(prompt: np.ndarray, cached: bool) -> None:
    inputs = [np.empty((0, WIDTH)) for _ in range(LAYERS)]
    cache = [(np.empty((0, WIDTH)), np.empty((0, WIDTH))) for _ in range(LAYERS)] if cached else None
    token = prompt
    with scope("request"):
        for n in range(TOKENS):
            with scope("decode"):
                inputs[0] = np.vstack([inputs[0], token])
                token = np.tanh(step(inputs, cache))
            counter("tokens", n + 1)


def main() -> None:
    cached = "--fixed" in sys.argv[1:]
    for _ in range(REQUESTS):
        generate(rng.normal(size=(1, WIDTH)), cached)
    print(f"{REQUESTS} requests of {TOKENS} tokens, {'with' if cached else 'without'} a cache")


if __name__ == "__main__":
    main()
