"""A varied torch server for tools/soak.py: several kinds of requests, models and code that change from epoch to epoch,
an asyncio front, a pool of threads, a decoder that works token by token, threads that come and go, collections of
garbage, a cache of bounded size.

soak_server.py --port-file FILE --truth FILE [--epoch SECONDS] [--seconds SECONDS]

listens on 127.0.0.1 and ends by itself after --seconds, or at POST /stop.  Then --truth has the CPU time that each
planted function counted of itself (soak_plants.py).
"""

from __future__ import annotations

import argparse
import asyncio
import concurrent.futures
import contextlib
import gc
import importlib
import json
import os
import queue
import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import soak_plants
from soak_plants import Garden, Plant

np: Any = importlib.import_module("numpy")
torch: Any = importlib.import_module("torch")
nn: Any = torch.nn

CACHE_MAX = 500
EPOCH_SHARE = 0.10  # of an epoch's CPU time, that its own plant has
THREAD_EVERY = 20  # requests
COLLECT_EVERY = 200  # requests
TOKENS = 1_000


class Encoder(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(TOKENS, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, batch_first=True) for _ in range(layers)
        )

    def forward(self, ids: Any) -> Any:
        x = self.words(ids)
        for block in self.blocks:
            x = block(x)
        return x.mean(dim=1)


class Decoder(nn.Module):  # type: ignore[misc]
    """Makes tokens one by one, with a cache of keys and values."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.width = width
        self.words = nn.Embedding(TOKENS, width)
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.mix = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)) for _ in range(layers)
        )

    def step(self, token: Any, past: list[Any]) -> Any:
        x = self.words(token)
        for i, (qkv, mix) in enumerate(zip(self.qkv, self.mix)):
            q, k, v = qkv(x).split(self.width, dim=-1)
            keys, values = (k, v) if past[i] is None else (torch.cat((past[i][0], k)), torch.cat((past[i][1], v)))
            past[i] = (keys, values)
            x = x + torch.softmax(q @ keys.T / self.width**0.5, -1) @ values
            x = x + mix(x)
        return (x @ self.words.weight.T).argmax(-1)

    def generate(self, first: int, count: int) -> list[int]:
        past: list[Any] = [None] * len(self.qkv)
        token = torch.tensor([first])
        tokens = []
        for _ in range(count):
            token = self.step(token, past)
            tokens.append(int(token))
        return tokens


class Images(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(width, 10),
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        return self.layers(x).softmax(-1)


class Models:
    """All models of one epoch: widths, depths and code differ from the one before."""

    def __init__(self, number: int) -> None:
        torch.manual_seed(number)
        self.encoder = Encoder((64, 128, 96)[number % 3], 1 + number % 3).eval()
        self.decoder = Decoder((64, 96, 128, 80)[number % 4], 2 + number % 2).eval()
        self.images = Images((8, 16, 12)[number % 3]).eval()
        self.recurrent = (nn.LSTM, nn.GRU)[number % 2](48, 64, 1 + number % 2, batch_first=True).eval()
        self.table = np.random.default_rng(number).standard_normal((2_000, 48), dtype=np.float32)
        self.plan = soak_plants.load_plan(number)
        self.begin = self.plan[f"plan_{number:03}_step_00"]
        self.plant = Plant(self.plan[f"plan_{number:03}_plant"], "pool", EPOCH_SHARE)


def tokenise(text: str) -> list[int]:
    """As tokenisers in Python do: letters, pairs, merges."""
    tokens = []
    for word in text.lower().split():
        pieces = [word[i : i + 3] for i in range(0, len(word), 3)]
        for left, right in zip(pieces, pieces[1:]):
            tokens.append(sum(map(ord, left + right)) % TOKENS)
        tokens.append(sum(map(ord, pieces[0])) % TOKENS)
    return tokens or [0]


class Server:
    def __init__(self, epoch_s: float) -> None:
        self.epoch_s = epoch_s
        self.garden = Garden()
        self.number = 0
        self.models = Models(0)
        self.garden.add(self.models.plant)
        self.cache: OrderedDict[str, Any] = OrderedDict()
        self.counts: dict[str, int] = {}
        self.pool = concurrent.futures.ThreadPoolExecutor(2, "pool")
        self.prompts: queue.Queue[tuple[Callable[[Any], object], int, int] | None] = queue.Queue()
        self.over = asyncio.Event()
        self.routes: dict[str, Callable[[dict[str, Any]], Any]] = {
            "/embed": self.embed, "/image": self.image, "/rank": self.rank, "/document": self.document,
            "/sequence": self.sequence, "/plan": self.plan,
        }  # fmt: skip

    def next_epoch(self) -> None:
        models = Models(self.number + 1)
        self.garden.retire(self.models.plant)
        self.number, self.models = self.number + 1, models
        self.garden.add(models.plant)

    def embed(self, body: dict[str, Any]) -> Any:
        rows = [tokenise(text)[:48] for text in body["texts"]]
        longest = max(map(len, rows))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        return self.models.encoder(ids)[:, :4].tolist()

    def image(self, body: dict[str, Any]) -> Any:
        side = body["side"]
        pixels = np.random.default_rng(body["seed"]).integers(0, 256, (1, 3, side, side)).astype(np.float32)
        pixels = (pixels / 255 - pixels.mean(axis=(2, 3), keepdims=True) / 255) / 0.5
        return self.models.images(torch.from_numpy(pixels))[0].tolist()

    def rank(self, body: dict[str, Any]) -> Any:
        wanted = np.random.default_rng(body["seed"]).standard_normal(48, dtype=np.float32)
        scores = self.models.table @ wanted
        best = np.argpartition(scores, -50)[-50:]
        rows = sorted(((float(scores[i]), int(i)) for i in best), reverse=True)
        return [{"id": i, "score": round(score, 4)} for score, i in rows]

    def document(self, body: dict[str, Any]) -> Any:
        text = json.dumps([{"row": i, "text": " ".join(soak_plants.WORDS[i % 7 :])} for i in range(body["rows"])])
        tokens = [tokenise(row["text"]) for row in json.loads(text)]
        return {"tokens": sum(map(len, tokens)), "bytes": len(text)}

    def sequence(self, body: dict[str, Any]) -> Any:
        out, _ = self.models.recurrent(torch.ones(1, body["steps"], 48))
        return out[0, -1, :4].tolist()

    def plan(self, body: dict[str, Any]) -> Any:
        return float(self.models.begin(torch.ones(64, 64), body["depth"]))

    def answer(self, path: str, body: dict[str, Any]) -> Any:
        """In a thread of the pool."""
        with torch.inference_mode():
            found = self.routes[path](body)
            self.garden.tend("pool")
        self.cache[f"{path} {len(self.cache)} {body.get('seed', 0)}"] = [found, [{"copy": i} for i in range(20)]]
        while len(self.cache) > CACHE_MAX:
            with contextlib.suppress(KeyError):
                self.cache.popitem(last=False)
        return found

    def decode(self) -> None:
        """The thread of the decoder: one prompt after the other."""
        while (asked := self.prompts.get()) is not None:
            done, first, count = asked
            with torch.inference_mode():
                tokens = self.models.decoder.generate(first, count)
                self.garden.tend("decoder")
            done(tokens)

    async def generate(self, body: dict[str, Any]) -> Any:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[Any] = loop.create_future()
        self.prompts.put(
            (lambda tokens: loop.call_soon_threadsafe(ready.set_result, tokens), body["seed"] % TOKENS, body["tokens"])
        )
        return await ready

    async def dispatch(self, path: str, body: dict[str, Any]) -> Any:
        total = self.counts[path] = self.counts.get(path, 0) + 1
        if path == "/stop":
            self.over.set()
            return {}
        if path == "/pid":
            return {"pid": os.getpid()}
        self.garden.tend("loop")
        if total % COLLECT_EVERY == 0:
            gc.collect()
        if total % THREAD_EVERY == 0:
            threading.Thread(target=self.garden.tend, args=("thread",), name="short").start()
        if path == "/generate":
            return await self.generate(body)
        return await asyncio.get_running_loop().run_in_executor(self.pool, self.answer, path, body)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                size = 0
                while (head := await reader.readline()) not in (b"\r\n", b""):
                    if head.lower().startswith(b"content-length:"):
                        size = int(head.split(b":")[1])
                body = json.loads(await reader.readexactly(size)) if size else {}
                said = json.dumps(await self.dispatch(line.split()[1].decode(), body)).encode()
                head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(said)
                writer.write(head + said)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def epochs(self, end: float) -> None:
        while time.monotonic() < end:
            await asyncio.sleep(min(self.epoch_s, max(0.0, end - time.monotonic())))
            if time.monotonic() < end:
                await asyncio.get_running_loop().run_in_executor(self.pool, self.next_epoch)
        self.over.set()

    async def run(self, port_file: Path, seconds: float) -> None:
        listening = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        decoder = threading.Thread(target=self.decode, name="decoder")
        decoder.start()
        epochs = asyncio.ensure_future(self.epochs(time.monotonic() + seconds))
        part = port_file.with_suffix(".part")
        part.write_text(str(listening.sockets[0].getsockname()[1]))
        part.rename(port_file)
        await self.over.wait()
        epochs.cancel()
        listening.close()
        self.prompts.put(None)
        decoder.join()
        self.pool.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--epoch", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=86_400)
    given = parser.parse_args()
    random.seed(0)
    # Made inside a loop: before Python 3.10 an event belongs to the loop of its making.
    server: list[Server] = []

    async def start() -> None:
        server.append(Server(given.epoch))
        await server[0].run(given.port_file, given.seconds)

    asyncio.run(start())
    said = {"plants": server[0].garden.said(), "cpu_us": time.process_time_ns() / 1e3, "requests": server[0].counts,
            "epochs": server[0].number + 1}  # fmt: skip
    given.truth.write_text(json.dumps(said))


if __name__ == "__main__":
    main()
