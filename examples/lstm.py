"""An LSTM over sequences.  Its fault: each step keeps its whole history in objects that refer to each other, and the
garbage collector looks at all of them again and again.

inferscope run --report lstm.html examples/lstm.py            # slow
inferscope run --report lstm.html examples/lstm.py --fixed    # keeps what it needs
"""

from __future__ import annotations

import sys

import numpy as np
from inferscope import scope

WIDTH, STEPS, REQUESTS = 96, 120, 24
rng = np.random.default_rng(7)
WEIGHTS = rng.normal(0, 0.1, (2 * WIDTH, 4 * WIDTH))
HISTORY: list[Trace] = []


class Trace:
    """One step and all the numbers that led to it, linked both ways."""

    def __init__(self, before: Trace | None, gates: list[float]) -> None:
        self.before, self.after = before, None
        self.gates = [{"gate": i, "value": gate, "step": self} for i, gate in enumerate(gates)]
        if before is not None:
            before.after = self  # type: ignore[assignment]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def cell(x: np.ndarray, hidden: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    gates = np.concatenate([x, hidden]) @ WEIGHTS
    forget, take, out, new = np.split(gates, 4)
    state = sigmoid(forget) * state + sigmoid(take) * np.tanh(new)
    return sigmoid(out) * np.tanh(state), state, gates


def run(sequence: np.ndarray, fixed: bool) -> np.ndarray:
    hidden, state, last = np.zeros(WIDTH), np.zeros(WIDTH), None
    with scope("request"):
        for x in sequence:
            hidden, state, gates = cell(x, hidden, state)
            if not fixed:
                last = Trace(last, gates.tolist())
                HISTORY.append(last)
    return hidden


def main() -> None:
    fixed = "--fixed" in sys.argv[1:]
    total = sum(float(run(rng.normal(size=(STEPS, WIDTH)), fixed).sum()) for _ in range(REQUESTS))
    print(f"{REQUESTS} sequences of {STEPS} steps: {total:.3f}")


if __name__ == "__main__":
    main()
