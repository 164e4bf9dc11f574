"""Healthy: a batch job whose time is spread over many functions, without a scope."""

import json
import re
import time
import zlib

from said import SECONDS, native, truth


def parse(text: str) -> "list[dict[str, int]]":
    return [json.loads(line) for line in text.splitlines()]


def select(rows: "list[dict[str, int]]") -> "list[dict[str, int]]":
    return [row for row in rows if row["b"] % 3]


def group(rows: "list[dict[str, int]]") -> "dict[int, int]":
    sums: dict[int, int] = {}
    for row in rows:
        sums[row["a"] % 10] = sums.get(row["a"] % 10, 0) + row["b"]
    return sums


def render(sums: "dict[int, int]", text: str) -> bytes:
    return zlib.compress(re.sub("[0-9]+", "n", text).encode() + json.dumps(sums).encode())


text = "\n".join(json.dumps({"a": i, "b": i * 7}) for i in range(1500))
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    render(group(select(parse(text))), text)
    native(3)
truth(None)
