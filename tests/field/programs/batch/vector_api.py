"""Embedding API on FastAPI/uvicorn; the indexer (child process) posts chunks of documents and stores the vectors."""
import json
import multiprocessing as mp
import os
import socket
import sys
import threading
import time

import httpx
import numpy as np

FIXED = "--fixed" in sys.argv
POSTS, CHUNK, DIM = 260, 96, 384


def indexer(port, done):
    store = []
    rng = np.random.default_rng(3)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
        for _ in range(POSTS):
            ids = rng.integers(1, 8000, (CHUNK, 24)).tolist()
            r = http.post("/embed", json={"ids": ids})
            if r.headers["content-type"] == "application/octet-stream":
                vectors = np.frombuffer(r.content, dtype=np.float32).reshape(-1, DIM)
            else:
                vectors = np.asarray(r.json()["vectors"], dtype=np.float32)
            store.append(vectors)
    done.send(float(np.concatenate(store).sum()))


def main():
    import torch
    import torch.nn as nn
    import uvicorn
    from fastapi import FastAPI, Response
    from pydantic import BaseModel

    t0 = time.perf_counter()
    torch.set_num_threads(1)
    torch.manual_seed(1)

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(8000, 192)
            self.mix = nn.Sequential(nn.Linear(192, 1024), nn.GELU(), nn.Linear(1024, 192))
            self.out = nn.Linear(192, DIM)

        def forward(self, ids):
            h = self.emb(ids)
            h = h + self.mix(h)
            return nn.functional.normalize(self.out(h.mean(1)), dim=1)

    model = Encoder().eval()
    app = FastAPI()

    class Batch(BaseModel):
        ids: list[list[int]]

    def encode(batch):
        with torch.inference_mode():
            return model(torch.tensor(batch.ids))

    if FIXED:
        @app.post("/embed")
        def embed(batch: Batch):
            return Response(encode(batch).numpy().tobytes(), media_type="application/octet-stream")
    else:
        @app.post("/embed")
        def embed(batch: Batch):
            return {"vectors": encode(batch).tolist(), "dim": DIM}

    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, name="uvicorn")
    thread.start()
    while not server.started:
        time.sleep(0.01)
    result, far = mp.Pipe()
    client = mp.get_context("spawn").Process(target=indexer, args=(sock.getsockname()[1], far), name="indexer")
    t = time.perf_counter()
    client.start()
    total = result.recv()
    serve = time.perf_counter() - t
    client.join()
    server.should_exit = True
    thread.join()
    wall = time.perf_counter() - t0
    tm = os.times()
    print("posts", POSTS, "sum %.2f" % total)
    print(json.dumps({
        "fault": None if FIXED else "each response carries 37k floats as a Python list: FastAPI walks it element by element (jsonable_encoder), then json renders it, on the event loop's thread and in the client again",
        "where": "main.<locals>.embed", "also": ["embed", "jsonable_encoder", "serialize_response", "indexer"], "process": "main", "thread": "uvicorn (event loop)",
        "share": None, "fixed_saves": None, "limit": "native_compute and interpreter (parsing of the request)",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(tm[:4]), 3),
        "unit": "request", "units": POSTS, "tags": []}))


if __name__ == "__main__":
    main()
