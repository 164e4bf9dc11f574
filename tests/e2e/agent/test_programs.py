"""Programs of others, with the hooks in them: they print, exit and leave behind the same."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SQL = (
    "create table t(a, b);"
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)"
    " insert into t select i, i * i from n;"
    "select count(*), sum(b) from t;"
)
PERL = (
    "my %h; $h{$_ % 997} .= chr(65 + $_ % 26) for 1..50000;"
    'print length(join "", map { $h{$_} } sort keys %h), "\\n"; print `echo from a child`; exit 3'
)

PROGRAMS = {
    "true": ["/bin/true"],
    "false": ["/bin/false"],
    "ls": ["ls", "/usr/bin"],
    "sort": ["sh", "-c", "seq 50000 | sort -R --random-source=/bin/sh | md5sum"],
    "bash": ["bash", "-c", "for i in $(seq 30); do (exit $i) & done; wait; trap 'echo bye' EXIT; kill -TERM $$"],
    "sqlite3": ["sqlite3", ":memory:", SQL],
    "perl": ["perl", "-e", PERL],
    "java": ["java", "-XX:TieredStopAtLevel=1", "-version"],
    "tar": ["sh", "-c", "tar cf - /usr/share/perl5 2>/dev/null | gzip -n | md5sum"],
    "awk": ["awk", 'BEGIN { while (("echo a b c" | getline x) > 0) n++; print n; system("exit 4") }'],
    "git": ["git", "--version"],
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("in_session", [False, True], ids=["alone", "session"])
def test_it_prints_and_exits_the_same(preload: Any, session: Any, name: str, in_session: bool) -> None:
    command = PROGRAMS[name]
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} here")
    (session() if in_session else preload).same(*command, timeout=120)


def test_python_prints_and_exits_the_same(preload: Any, session: Any, python: str) -> None:
    code = (
        "import asyncio, concurrent.futures, json, multiprocessing, os, subprocess, sys, threading, time\n"
        "print(sum(concurrent.futures.ThreadPoolExecutor(4).map(len, ['x' * i for i in range(500)])))\n"
        "async def main(): return await asyncio.gather(*(asyncio.sleep(0.001, i) for i in range(50)))\n"
        "print(asyncio.run(main())[-1])\n"
        "pid = os.fork()\n"
        "if pid == 0: os._exit(7)\n"
        "print(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))\n"
        "print(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout)\n"
        "print(os.system('exit 5') >> 8, os.popen('echo popen').read())\n"
        "with multiprocessing.get_context('fork').Pool(2) as pool: print(sum(pool.map(abs, range(-50, 50))))\n"
        "sys.exit(9)\n"
    )
    said = preload.same(python, "-W", "ignore", "-c", code, timeout=120)
    assert said.returncode == 9, said.stderr
    session().same(python, "-W", "ignore", "-c", code, timeout=120)


def test_gcc_makes_the_same_object(session: Any, tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text('#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts("made"); return 6; }\n')
    s, made = session(), []
    for run in (s.bare, s):
        said = run("cc", "-O2", "-o", tmp_path / "a", source, cwd=tmp_path)
        assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
        made.append((tmp_path / "a").read_bytes())
    assert made[0] == made[1]
    assert s.same(tmp_path / "a").returncode == 6


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="no redis-server here")
def test_redis_serves_a_benchmark(session: Any, tmp_path: Path, count: Callable[[int, int], int]) -> None:
    s, port = session(), free_port()
    options = ["--port", str(port), "--save", "", "--appendonly", "yes", "--dir", str(tmp_path), "--daemonize", "no"]
    log = (tmp_path / "log").open("w+")
    environment = {**s.environment, **s.variables()}
    server = subprocess.Popen(["redis-server", *options], env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 20
        while s("redis-cli", "-p", str(port), "ping").stdout != "PONG\n":
            assert server.poll() is None and time.monotonic() < deadline, (tmp_path / "log").read_text()
        requests = str(count(5000, 100000))
        said = s("redis-benchmark", "-p", str(port), "-n", requests, "-q", "-t", "set,get,lpush,mset", timeout=120)
        assert said.returncode == 0
        assert said.stdout.count("requests per second") == 4
        assert s("redis-cli", "-p", str(port), "bgrewriteaof").returncode == 0
        assert s("redis-cli", "-p", str(port), "shutdown", "nosave").returncode == 0
        assert server.wait(timeout=20) == 0
    finally:
        server.kill()
        server.wait()
        log.close()
    assert "crash" not in (tmp_path / "log").read_text().lower()
