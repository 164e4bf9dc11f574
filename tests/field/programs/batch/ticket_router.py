"""Routes support tickets to queues.

A feature service keeps per-account aggregates (own process, keep-alive HTTP/1.1). The router pulls the
account's aggregates, joins them with the text vector and runs a small dense net.
"""
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
import http.client
import json
import multiprocessing as mp
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

FIXED = "--fixed" in sys.argv
T0 = time.perf_counter()
N_TICKETS = 190
N_AGG = 48
ATTEMPTS = 4
BACKOFF_S = 0.03
IDLE_LIMIT_S = 0.015          # what the feature service's keep-alive timeout allows us to rely on


class FeatureHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 0.02            # keep-alive timeout of the service

    def do_GET(self):
        account = int(self.path.rsplit("/", 1)[1])
        rng = np.random.default_rng(account)
        body = json.dumps({"agg": rng.standard_normal(N_AGG).round(4).tolist()}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def run_feature_service(port_pipe):
    server = ThreadingHTTPServer(("127.0.0.1", 0), FeatureHandler)
    server.daemon_threads = True
    port_pipe.send(server.server_address[1])
    server.serve_forever()


class FeatureClient:
    """One persistent connection; transient errors are retried with exponential backoff."""

    def __init__(self, port):
        self.conn = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        self.last_used = 0.0
        self.retries = 0
        self.backoff_s = 0.0

    def get(self, account):
        if FIXED and time.monotonic() - self.last_used > IDLE_LIMIT_S:
            self.conn.close()
        for attempt in range(ATTEMPTS):
            try:
                self.conn.request("GET", f"/aggregates/{account}")
                resp = self.conn.getresponse()
                data = json.loads(resp.read())
                self.last_used = time.monotonic()
                return data["agg"]
            except (http.client.HTTPException, OSError):
                self.conn.close()
                self.retries += 1
                self._pause(attempt)
        raise RuntimeError("feature service unavailable")

    def _pause(self, attempt):
        t = time.perf_counter()
        time.sleep(BACKOFF_S * 2 ** attempt)
        self.backoff_s += time.perf_counter() - t


class RouterNet:
    def __init__(self, dim, hidden, queues, seed=11):
        rng = np.random.default_rng(seed)
        self.w1 = rng.standard_normal((dim, hidden), dtype=np.float32) / np.sqrt(dim)
        self.w2 = rng.standard_normal((hidden, hidden), dtype=np.float32) / np.sqrt(hidden)
        self.w3 = rng.standard_normal((hidden, queues), dtype=np.float32) / np.sqrt(hidden)

    def __call__(self, x):
        h = np.maximum(x @ self.w1, 0)
        h = np.maximum(h @ self.w2, 0)
        return h @ self.w3


def route(net, client, ticket_id, windows):
    agg = np.asarray(client.get(ticket_id % 700), dtype=np.float32)
    x = np.concatenate([windows, np.broadcast_to(agg, (len(windows), N_AGG))], axis=1)
    return int(net(x).mean(axis=0).argmax())


def main():
    parent, child = mp.Pipe()
    service = mp.get_context("spawn").Process(target=run_feature_service, args=(child,), name="features", daemon=True)
    service.start()
    client = FeatureClient(parent.recv())
    net = RouterNet(400 + N_AGG, 1280, 24)
    rng = np.random.default_rng(5)
    windows = rng.standard_normal((512, 400), dtype=np.float32)
    queues = np.zeros(24, dtype=int)
    t = time.perf_counter()
    for ticket_id in range(N_TICKETS):
        queues[route(net, client, ticket_id, np.roll(windows, ticket_id, axis=1))] += 1
    serve = time.perf_counter() - t
    service.terminate()
    service.join()
    wall = time.perf_counter() - T0
    tm = os.times()
    print("routed", queues.sum(), "tickets,", client.retries, "retries")
    print(json.dumps({
        "fault": None if FIXED else "the kept connection outlives the service's keep-alive timeout: each lookup hits a closed socket, then sleeps the retry backoff",
        "where": "FeatureClient.get", "also": ["FeatureClient._pause", "_pause", "get"], "process": "main", "thread": "main",
        "share": round(client.backoff_s / wall, 3), "fixed_saves": None, "limit": "native_compute",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(tm[:4]), 3),
        "unit": "request", "units": N_TICKETS, "tags": []}))


if __name__ == "__main__":
    main()
