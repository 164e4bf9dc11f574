"""Ticket tagger behind gunicorn (one sync worker on this box), fed by the helpdesk's webhook replayer.

    python ticket_tagger.py            settings of the deployment
    python ticket_tagger.py --fixed
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from gunicorn.app.base import BaseApplication

LOADED = time.perf_counter()
TICKETS = 560
RUN_DIR = tempfile.mkdtemp(prefix="tagger-")

SETTINGS = {
    "bind": "127.0.0.1:0",
    "workers": 1,
    "worker_class": "sync",
    "timeout": 120,
    "graceful_timeout": 30,
    "loglevel": "error",
    "max_requests": 120,      # keeps the resident size of the workers flat
}


class TaggerServer(BaseApplication):
    def __init__(self, settings):
        self.settings = settings
        super().__init__()

    def load_config(self):
        for key, value in self.settings.items():
            self.cfg.set(key, value)

    def load(self):
        from ticket_tagger.service import application
        return application


def replay(parent, port_file, count, out):
    while not os.path.exists(port_file):
        time.sleep(0.05)
    url = "http://127.0.0.1:%s/tag" % open(port_file).read()
    rng = random.Random(5)

    def post(i, words):
        data = json.dumps({"id": i, "ids": [rng.randrange(30000) for _ in range(words)]}).encode()
        with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"}), timeout=120) as r:
            return json.load(r)

    post(-1, 16)
    started, seen, slowest = time.perf_counter(), 0, 0.0
    for i in range(count):
        t = time.perf_counter()
        seen += post(i, 128)["id"] == i
        slowest = max(slowest, time.perf_counter() - t)
    with open(out, "w") as f:
        json.dump({"serve_s": time.perf_counter() - started, "answers": seen, "slowest_s": round(slowest, 3)}, f)
    os.kill(parent, signal.SIGTERM)


def main():
    fixed = "--fixed" in sys.argv
    os.environ["TAGGER_RUN_DIR"] = RUN_DIR
    port_file, out = os.path.join(RUN_DIR, "port"), os.path.join(RUN_DIR, "replay.json")

    def publish_port(server):
        with open(port_file + ".tmp", "w") as f:
            f.write(str(server.LISTENERS[0].sock.getsockname()[1]))
        os.rename(port_file + ".tmp", port_file)

    settings = dict(SETTINGS, when_ready=publish_port)
    if fixed:
        settings["max_requests"] = 0
    client = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--replay", str(os.getpid()), port_file, str(TICKETS), out])
    arbiter = os.getpid()
    try:
        TaggerServer(settings).run()
    except SystemExit:
        if os.getpid() != arbiter:
            raise
    client.wait()
    stats = json.load(open(out))
    boots = [float(line.split()[1]) for line in open(os.path.join(RUN_DIR, "boots.log"))]
    wall = time.perf_counter() - LOADED
    t = os.times()
    print("answers", stats["answers"], "slowest", stats["slowest_s"], "s, worker starts", len(boots))
    print(json.dumps({
        "fault": None if fixed else "max_requests of 120: the only worker is replaced every few seconds and imports torch and builds the model again while requests wait",
        "where": "TaggerServer.load", "also": ["ticket_tagger.service", "load_tagger", "TaggerServer.load_config", "main"],
        "process": "gunicorn worker (each new one)", "share": round(sum(boots[1:]) / wall, 3), "fixed_saves": None, "limit": "native_compute",
        "serve_s": round(stats["serve_s"], 3), "wall_s": round(wall, 3), "cpu_s": round(sum(t[:4]), 3),
        "unit": "request", "units": stats["answers"], "tags": []}))


if __name__ == "__main__":
    if "--replay" in sys.argv:
        replay(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5])
    else:
        main()
