"""Clients for long runs: they ask a server on this machine until a time is over, with kinds and sizes that change.

Each client waits for its answer before it asks again, so the load is bounded by the server.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ANSWER_S = 120.0
TEXT = "what does a model say about an image of tokens when requests come and go all day"
WORDS = TEXT.split()
Ask = Callable[[random.Random, float], tuple[str, dict[str, Any]]]  # part of the run that is over -> path, body


@dataclass
class Load:
    """What the clients did."""

    answers: dict[str, int] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def said(self, seconds: float) -> str:
        total = sum(self.answers.values())
        return f"{total} answers in {seconds:.0f} s, {total / seconds:.1f} a second"

    def count(self, path: str, error: str | None) -> None:
        with self.lock:
            if error is None:
                self.answers[path] = self.answers.get(path, 0) + 1
            else:
                self.failed.append(error)


def torch_server(draw: random.Random, over: float) -> tuple[str, dict[str, Any]]:
    """The mixture turns with time: every tenth of the run prefers two other kinds."""
    kinds = ("/embed", "/generate", "/image", "/rank", "/document", "/sequence", "/plan")
    part = int(over * 10)
    weights = [4 if i in (part % 7, (part * 3 + 1) % 7) else 1 for i in range(len(kinds))]
    kind = draw.choices(kinds, weights)[0]
    body: dict[str, Any] = {"seed": draw.randrange(1 << 30)}
    if kind == "/embed":
        body["texts"] = [" ".join(draw.choices(WORDS, k=draw.randint(4, 30))) for _ in range(draw.randint(1, 6))]
    elif kind == "/generate":
        body["tokens"] = draw.randint(4, 48)
    elif kind == "/image":
        body["side"] = draw.choice((16, 24, 32, 64))
    elif kind == "/document":
        body["rows"] = draw.randint(5, 60)
    elif kind == "/sequence":
        body["steps"] = draw.randint(4, 64)
    elif kind == "/plan":
        body["depth"] = draw.randint(0, 9)
    return kind, body


def vllm(draw: random.Random, over: float) -> tuple[str, dict[str, Any]]:
    """Completions with prompts of 2 to 600 words; every fifth streamed, every seventh sampled."""
    longest = (20, 120, 600)[int(over * 9) % 3]
    body: dict[str, Any] = {
        "model": "tiny",
        "prompt": " ".join(draw.choices(WORDS, k=draw.randint(2, longest))),
        "max_tokens": draw.randint(2, 64),
        "ignore_eos": True,
        "temperature": 0.0 if draw.randrange(7) else 0.8,
    }
    if draw.randrange(5) == 0:
        body["stream"] = True
    return "/v1/completions", body


def ask(connection: http.client.HTTPConnection, path: str, body: dict[str, Any]) -> bytes:
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    said = answer.read()
    if answer.status != 200:
        raise ConnectionError(f"{path}: status {answer.status}: {said[:200]!r}")
    return said


def once(port: int, path: str, body: dict[str, Any] | None = None) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_S)
    try:
        return json.loads(ask(connection, path, body or {}))
    finally:
        connection.close()


def drive(port: int, what: Ask, seconds: float, clients: int, pause_s: float = 0.0) -> Load:
    """Returns when the time is over and each client has its last answer."""
    load, begin = Load(), time.monotonic()

    def client(number: int) -> None:
        draw = random.Random(number)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_S)
        while (gone := time.monotonic() - begin) < seconds and len(load.failed) < 100:
            path, body = what(draw, gone / seconds)
            try:
                ask(connection, path, body)
                load.count(path, None)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                load.count(path, f"{type(error).__name__}: {error}")
                time.sleep(0.1)
            if pause_s:
                time.sleep(pause_s)
        connection.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return load
