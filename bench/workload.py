"""A Python program of no particular kind: objects, text, sorting.  Prints how long that took."""

import json
import time


class Point:
    def __init__(self, x: int, y: int) -> None:
        self.x = x
        self.y = y

    def norm(self) -> int:
        return self.x * self.x + self.y * self.y


def work() -> int:
    points = [Point(i * 7919 % 1009, i * 104729 % 1013) for i in range(40000)]
    points.sort(key=Point.norm)
    text = json.dumps([{"x": p.x, "y": p.y} for p in points[:20000]])
    words: dict[str, int] = {}
    for word in text.split():
        words[word] = words.get(word, 0) + 1
    return len(json.loads(text)) + len(words)


begin, cpu = time.monotonic_ns(), time.process_time_ns()
work()
took, cpu = time.monotonic_ns() - begin, time.process_time_ns() - cpu
print(json.dumps({"work_ms": took / 1e6, "work_cpu_ms": cpu / 1e6}))
