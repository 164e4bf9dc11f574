"""A server with threads.  Its fault: a thread for metrics formats numbers in pure Python all the time, and holds the
interpreter lock that the requests need.

inferscope run --report threads.html examples/threaded_server.py            # slow
inferscope run --report threads.html examples/threaded_server.py --fixed    # metrics once a second
"""

from __future__ import annotations

import queue
import sys
import threading
import zlib

from inferscope import scope

WORKERS, REQUESTS = 2, 600
TEXT = b"prefill and decode and prefill and " * 200


def tokenise(text: bytes) -> list[int]:
    return [zlib.crc32(word) % 30000 for word in text.split()]


def forward(tokens: list[int]) -> int:
    """Stands for a forward pass: native code that lets go of the interpreter lock."""
    return len(zlib.compress(bytes(token % 251 for token in tokens) * 40))


def work(requests: queue.Queue[bytes | None], done: list[int]) -> None:
    while (text := requests.get()) is not None:
        with scope("request"):
            with scope("tokenise"):
                tokens = tokenise(text)
            with scope("forward"):
                done.append(forward(tokens))


def metrics(done: list[int], stop: threading.Event, every_s: float) -> None:
    while not stop.is_set():
        lines = [f"requests_total{{shard={i}}} {len(done)}" for i in range(3000)]
        "\n".join(lines).encode()
        stop.wait(every_s)


def main() -> None:
    fixed = "--fixed" in sys.argv[1:]
    requests: queue.Queue[bytes | None] = queue.Queue()
    done: list[int] = []
    stop = threading.Event()
    threads = [threading.Thread(target=work, args=(requests, done), name=f"worker-{i}") for i in range(WORKERS)]
    threads += [threading.Thread(target=metrics, args=(done, stop, 1.0 if fixed else 0.0), name="metrics")]
    for thread in threads:
        thread.start()
    for _ in range(REQUESTS):
        requests.put(TEXT)
    for _ in range(WORKERS):
        requests.put(None)
    for thread in threads[:WORKERS]:
        thread.join()
    stop.set()
    threads[-1].join()
    print(f"{len(done)} requests answered")


if __name__ == "__main__":
    main()
