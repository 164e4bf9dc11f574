"""Review moderation gateway.

A threaded HTTP/1.1 endpoint (`POST /v1/moderate`) in front of a small hashed n-gram classifier.
The nightly re-scorer runs in a process of its own and keeps one connection open for the whole run.
"""
import os
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import argparse
import http.client
import json
import multiprocessing as mp
import random
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

LOADED = time.perf_counter()
REVIEWS = 260
WINDOW = 40
BUCKETS = 4096
LABELS = ("ok", "spam", "abuse", "off_topic")


class ReviewModel:
    """Text is cut into windows, each window hashed into a bag of trigrams, three dense layers on top."""

    def __init__(self, seed=7, width=1024):
        rng = np.random.default_rng(seed)
        self.w1 = rng.standard_normal((BUCKETS, width), dtype=np.float32) / 64
        self.w2 = rng.standard_normal((width, width), dtype=np.float32) / 32
        self.w3 = rng.standard_normal((width, len(LABELS)), dtype=np.float32) / 32

    def features(self, text):
        windows = [text[i:i + WINDOW] for i in range(0, len(text), WINDOW // 2)]
        x = np.zeros((len(windows), BUCKETS), dtype=np.float32)
        for row, window in enumerate(windows):
            for i in range(len(window) - 2):
                x[row, zlib.crc32(window[i:i + 3].encode()) % BUCKETS] += 1.0
        return x

    def score(self, text):
        h = self.features(text)
        h = np.maximum(h @ self.w1, 0)
        for _ in range(14):
            h = np.maximum(h @ self.w2, 0)
        z = (h @ self.w3).mean(axis=0)
        z = np.exp(z - z.max())
        return z / z.sum()


class GatewayServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address, handler, model):
        super().__init__(address, handler)
        self.model = model
        self.served = 0


class ReviewHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        scores = self.server.model.score(payload["text"])
        best = int(scores.argmax())
        self.reply(200, {"id": payload["id"], "label": LABELS[best], "score": round(float(scores[best]), 5)})
        self.server.served += 1

    def reply(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, fmt, *args):
        pass


class BufferedReviewHandler(ReviewHandler):
    wbufsize = -1
    disable_nagle_algorithm = True


def rescore(port, count, report):
    rng = random.Random(3)
    words = ["great", "battery", "refund", "arrived", "colour", "never", "again", "cheap", "sturdy", "box"]
    conn = http.client.HTTPConnection("127.0.0.1", port)
    body_s, labels = 0.0, {}
    started = time.perf_counter()
    for i in range(count):
        text = " ".join(rng.choice(words) for _ in range(240))
        conn.request("POST", "/v1/moderate", json.dumps({"id": i, "text": text}), {"Content-Type": "application/json"})
        response = conn.getresponse()
        t = time.perf_counter()
        answer = json.loads(response.read())
        body_s += time.perf_counter() - t
        labels[answer["label"]] = labels.get(answer["label"], 0) + 1
    report.send({"serve_s": time.perf_counter() - started, "body_s": body_s, "labels": labels})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    handler = BufferedReviewHandler if args.fixed else ReviewHandler
    server = GatewayServer(("127.0.0.1", 0), handler, ReviewModel())
    threading.Thread(target=server.serve_forever, name="acceptor", daemon=True).start()

    ctx = mp.get_context("spawn")
    ours, theirs = ctx.Pipe()
    client = ctx.Process(target=rescore, args=(server.server_address[1], REVIEWS, theirs), name="rescorer")
    client.start()
    stats = ours.recv()
    client.join()
    server.shutdown()

    t = os.times()
    print("moderated", server.served, stats["labels"])
    print(json.dumps({
        "fault": None if args.fixed else "response headers and body leave in two small writes on a keep-alive connection: the body waits for the delayed ACK (Nagle), 40 ms each",
        "where": "ReviewHandler.reply", "also": ["ReviewHandler.do_POST", "BaseHTTPRequestHandler.end_headers", "BaseHTTPRequestHandler.handle_one_request"],
        "process": "main", "thread": "Thread-1 (process_request_thread)",
        "share": round(stats["body_s"] / (time.perf_counter() - LOADED), 3), "fixed_saves": None, "limit": "native_compute",
        "serve_s": round(stats["serve_s"], 3), "wall_s": round(time.perf_counter() - LOADED, 3), "cpu_s": round(sum(t[:4]), 3),
        "unit": "request", "units": server.served, "tags": []}))


if __name__ == "__main__":
    main()
