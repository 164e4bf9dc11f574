"""Functions that count their own CPU time, for soak_server.py: what a report says of them is held against that.

Each plant has a share of the process's CPU time and runs whenever it is behind, so that its size is known whatever the
load and the machine are.  Its work is a plain function; the clock is read around it.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import json
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Work = Callable[[], object]
TEXT = "the model answers a question about tensors and time within a request of many tokens"
WORDS = TEXT.split()
RUNS_MAX = 8  # of a plant in a row: a request stays a request


@dataclass
class Plant:
    """A function, where it runs, and how much of the process's CPU time it shall have."""

    work: Work
    context: str  # loop, pool, decoder or thread
    share: float
    since_ns: int = 0  # CPU time of the process when it began
    spent_ns: dict[int, int] = field(default_factory=dict)  # by thread: no two write the same entry
    until_ns: int | None = None  # CPU time of the process when it ended

    @property
    def name(self) -> str:
        return self.work.__qualname__

    @property
    def all_ns(self) -> int:
        return sum(list(self.spent_ns.values()))

    def behind(self, now_ns: int) -> bool:
        return self.until_ns is None and self.all_ns < self.share * (now_ns - self.since_ns)

    def run(self) -> None:
        begin = time.thread_time_ns()
        self.work()
        spent = time.thread_time_ns() - begin
        thread = threading.get_ident()
        self.spent_ns[thread] = self.spent_ns.get(thread, 0) + spent

    def said(self) -> dict[str, Any]:
        code = self.work.__code__
        return {"name": self.name, "file": code.co_filename, "line": code.co_firstlineno, "cpu_us": self.all_ns / 1e3}


class Garden:
    """All plants; those of a context are run by whoever works there."""

    def __init__(self) -> None:
        self.plants = [Plant(work, context, share) for work, context, share in STEADY]

    def add(self, plant: Plant) -> None:
        plant.since_ns = time.process_time_ns()
        self.plants = [*self.plants, plant]

    def retire(self, plant: Plant) -> None:
        plant.until_ns = time.process_time_ns()

    def tend(self, context: str) -> None:
        """Runs those that are behind, each a few times."""
        now_ns = time.process_time_ns()
        for plant in self.plants:
            for _ in range(RUNS_MAX if plant.context == context else 0):
                if plant.behind(now_ns):
                    plant.run()

    def said(self) -> list[dict[str, Any]]:
        return [plant.said() for plant in self.plants]


def plant_loop() -> int:
    total = 0
    for i in range(6_000):
        total += i * i % 7
    return total


def weigh(value: int) -> int:
    return value % 5


def plant_calls() -> int:
    return sum(weigh(i) for i in range(3_000))


def plant_text() -> int:
    text = " ".join(WORDS * 40)
    return len(re.findall(r"\b[a-m]\w*\b", text)) + len(text.title().split())


def plant_json() -> int:
    body = json.dumps([{"id": i, "score": i / 7, "tags": WORDS[i % 9 :]} for i in range(60)], indent=1)
    return len(json.loads(body))


def plant_sort() -> list[str]:
    return sorted((word[i % 3 :] + str(i * 7919 % 1000) for i, word in enumerate(WORDS * 60)), key=lambda w: w[::-1])


def squares(n: int) -> Iterator[int]:
    for i in range(n):
        yield i * i


def plant_generator() -> int:
    return sum(value for value in squares(5_000) if value & 4)


def plant_copy() -> Any:
    return copy.deepcopy({i: [i, str(i), {"next": i + 1}] for i in range(60)})


def plant_hash() -> bytes:
    data = b"0123456789abcdef" * 4_096
    return hashlib.sha256(data).digest() + zlib.compress(data[:20_000], 6)[:8]


def descend(depth: int) -> int:
    return plant_deep_leaf() if depth == 0 else descend(depth - 1) + 1


def plant_deep_leaf() -> int:
    return sum(i % 3 for i in range(4_000))


def plant_deep() -> int:
    return descend(60)


def plant_numpy() -> Any:
    np = importlib.import_module("numpy")
    rows = np.arange(60_000, dtype=np.float32).reshape(300, 200)
    return np.argsort((rows - rows.mean(axis=0)) / (rows.std(axis=0) + 1), axis=1)[:, :5]


def plant_tensor() -> Any:
    torch = importlib.import_module("torch")
    x = torch.ones(32, 96)
    for _ in range(12):
        x = torch.nn.functional.gelu(x @ x.T @ x) / 96
    return x.sum()


class Counter:
    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def plant_method(self) -> int:
        for i in range(2_500):
            word = WORDS[i % len(WORDS)]
            self.seen[word] = self.seen.get(word, 0) + 1
        return len(self.seen)


def plant_rare() -> int:
    return sum(divmod(i, 7)[1] for i in range(3_000))


def plant_rare_text() -> int:
    return len("-".join(WORDS * 80).upper().split("-"))


def plant_rare_tensor() -> Any:
    torch = importlib.import_module("torch")
    return torch.softmax(torch.ones(200, 200).cumsum(1), 1).sum()


def plant_short_thread() -> int:
    return sum(i ^ 21 for i in range(20_000))


STEADY: list[tuple[Work, str, float]] = [
    (plant_loop, "pool", 0.03),
    (plant_calls, "pool", 0.02),
    (plant_text, "loop", 0.02),
    (plant_json, "loop", 0.01),
    (plant_sort, "pool", 0.01),
    (plant_generator, "decoder", 0.01),
    (plant_copy, "pool", 0.01),
    (plant_hash, "pool", 0.01),
    (plant_deep, "decoder", 0.005),
    (plant_numpy, "pool", 0.02),
    (plant_tensor, "decoder", 0.02),
    (Counter().plant_method, "loop", 0.005),
    (plant_rare, "pool", 0.0015),
    (plant_rare_text, "loop", 0.0015),
    (plant_rare_tensor, "decoder", 0.0015),
    (plant_short_thread, "thread", 0.01),
]


def write_plan(number: int, steps: int) -> str:
    """The source of a module of one epoch: a chain of functions that branches, and a plant of its own."""
    lines = ["import torch", ""]
    for step in range(steps):
        name = f"plan_{number:03}_step_{step:02}"
        after = [after for after in (step + 1, step + 1 + (step * 5 + number) % 3) if after < steps]
        lines += [
            f"def {name}(x, depth):",
            f"    x = torch.{('relu', 'tanh', 'sigmoid')[(step + number) % 3]}(x + depth)",
        ]
        for i, target in enumerate(after):
            lines.append(f"    if depth % {len(after)} == {i}:")
            lines.append(f"        return plan_{number:03}_step_{target:02}(x, depth + {1 + (number + step) % 2})")
        lines += ["    return x.sum()", ""]
    lines += [
        f"def plan_{number:03}_plant():",
        "    total = 0",
        f"    for i in range({5_000 + 37 * number}):",
        f"        total += i % {number + 3}",
        "    return total",
        "",
    ]
    return "\n".join(lines)


def load_plan(number: int, steps: int = 30) -> dict[str, Any]:
    names: dict[str, Any] = {}
    # A file that is not there, beside this one: the code of a program that writes code.
    exec(compile(write_plan(number, steps), str(Path(__file__).with_name(f"plan_{number:03}.py")), "exec"), names)
    return names
