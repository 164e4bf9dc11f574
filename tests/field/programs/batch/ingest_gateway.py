"""Scores incoming events. Keys are resolved by a small index server (own process, framed TCP); a usage recorder
keeps rolling percentiles per route for the dashboard.
"""
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import json
import multiprocessing as mp
import queue
import socket
import struct
import sys
import threading
import time

import numpy as np

FIXED = "--fixed" in sys.argv
T0 = time.perf_counter()
EVENTS, KEYS_PER_EVENT, DIM = 1150, 12, 768
WINDOW = 2600


def recv_exact(sock, n):
    buf = b""
    while len(buf) < n:
        part = sock.recv(n - len(buf))
        if not part:
            raise EOFError
        buf += part
    return buf


def run_index(port_pipe):
    listener = socket.create_server(("127.0.0.1", 0))
    port_pipe.send(listener.getsockname()[1])
    sock, _ = listener.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        try:
            (key,) = struct.unpack("<q", recv_exact(sock, 8))
        except EOFError:
            return
        sock.sendall(struct.pack("<q", key * 2654435761 % 4096))


class IndexClient:
    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.spent = 0.0

    def resolve(self, key):
        t = time.perf_counter()
        self.sock.sendall(struct.pack("<q", key))
        (row,) = struct.unpack("<q", recv_exact(self.sock, 8))
        self.spent += time.perf_counter() - t
        return row


class UsageRecorder:
    """Rolling percentiles over the last WINDOW observations of each route."""

    def __init__(self):
        self.window = {}

    def observe(self, route, value):
        rows = self.window.setdefault(route, [0.0] * WINDOW)
        rows.append(value)
        del rows[0]
        ranked = sorted(rows)
        mean = 0.0
        spread = 0.0
        for i, v in enumerate(ranked):
            delta = v - mean
            mean += delta / (i + 1)
            spread += delta * (v - mean)
        buckets = [0] * 64
        for v in ranked:
            buckets[min(63, int(abs(v) * 8))] += 1
        return mean, spread, ranked[WINDOW // 2], buckets

    def run(self, source):
        while (item := source.get()) is not None:
            for _ in range(12):                   # one pass per dashboard panel
                self.observe(*item)


def record_in_process(source):
    UsageRecorder().run(source)


class Scorer:
    def __init__(self):
        rng = np.random.default_rng(8)
        self.table = rng.standard_normal((4096, DIM), dtype=np.float32)
        self.w1 = rng.standard_normal((DIM, DIM), dtype=np.float32) / 28
        self.w2 = rng.standard_normal((DIM, DIM), dtype=np.float32) / 28

    def score(self, rows, noise):
        x = noise * self.table[rows].mean(axis=0)
        return float(np.maximum(x @ self.w1, 0).__matmul__(self.w2).mean())


def handle(event, index, scorer, noise):
    rows = [index.resolve(event * KEYS_PER_EVENT + k) for k in range(KEYS_PER_EVENT)]
    return scorer.score(rows, noise)


def main():
    ctx = mp.get_context("spawn")
    parent, child = mp.Pipe()
    server = ctx.Process(target=run_index, args=(child,), name="index", daemon=True)
    server.start()
    index = IndexClient(parent.recv())
    if FIXED:
        usage = ctx.Queue(maxsize=64)
        recorder = ctx.Process(target=record_in_process, args=(usage,), name="usage")
    else:
        usage = queue.Queue(maxsize=64)
        recorder = threading.Thread(target=UsageRecorder().run, args=(usage,), name="usage")
    recorder.start()
    scorer = Scorer()
    noise = np.random.default_rng(2).standard_normal((256, DIM), dtype=np.float32)
    acc = 0.0
    t = time.perf_counter()
    for event in range(EVENTS):
        value = handle(event, index, scorer, noise)
        acc += value
        usage.put((f"route{event % 5}", value))
    usage.put(None)
    recorder.join()
    serve = time.perf_counter() - t
    index.sock.close()
    server.join()
    wall = time.perf_counter() - T0
    tm = os.times()
    print("events", EVENTS, "index round trips took %.2f s" % index.spent)
    print(json.dumps({
        "fault": None if FIXED else "a pure Python recorder thread holds the interpreter lock: each index round trip and each numpy call waits a switch interval for it",
        "where": "UsageRecorder.observe", "also": ["observe", "UsageRecorder.run", "run", "IndexClient.resolve"], "process": "main", "thread": "usage",
        "share": None if FIXED else round(index.spent / wall, 3), "fixed_saves": None, "limit": "interpreter (recorder process) beside native_compute",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(tm[:4]), 3),
        "unit": "event", "units": EVENTS, "tags": []}))


if __name__ == "__main__":
    main()
