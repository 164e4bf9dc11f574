"""Small programs, each with one behaviour that a profiler could spoil: harmless.py NAME."""

import asyncio
import atexit
import concurrent.futures
import contextvars
import ctypes
import faulthandler
import gc
import hashlib
import json
import mmap
import multiprocessing
import os
import resource
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import zlib

PYTHON = sys.executable


def hello():
    print("out")
    print("err", file=sys.stderr)


def exit_code():
    sys.exit(3)


def exit_message():
    sys.exit("a last word")


def uncaught():
    {}["missing"]


def underscore_exit():
    print("flushed", flush=True)
    print("never flushed", end="")
    os._exit(7)


def abort():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.abort()


def segfault():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.string_at(8)


def killed():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10)


def interrupted():
    raise KeyboardInterrupt


def threads():
    counts = [0] * 8

    def work(i):
        for _ in range(1000):
            counts[i] += 1

    running = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in running:
        t.start()
    for t in running:
        t.join()
    print(counts)


def daemon_thread():
    threading.Thread(target=lambda: time.sleep(60), daemon=True).start()
    atexit.register(print, "at exit")
    print("main ends")


def fork():
    for i in range(5):
        pid = os.fork()
        if pid == 0:
            print("child", i, flush=True)
            os._exit(i)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def fork_in_thread():
    def work():
        pid = os.fork()
        if pid == 0:
            os._exit(5)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    t = threading.Thread(target=work)
    t.start()
    t.join()


def exec_image():
    sys.stdout.flush()
    os.execv(PYTHON, [PYTHON, "-c", "import sys; print(sys.argv[1:]); sys.exit(9)", "a b", "", "c"])


def shell():
    done = subprocess.run("echo one | tr a-z A-Z; exit 4", shell=True)
    print(done.returncode)
    print(subprocess.check_output(["sh", "-c", "echo $X"], env={"X": "alone"}))


def spawn_without_environment():
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 6"], {})
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _square(x):
    return x * x


def pool_spawn():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(_square, range(10)))


def pool_fork():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(_square, range(10)))


def executor():
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print(list(pool.map(_square, range(10))))


def async_subprocess():
    async def main():
        child = await asyncio.create_subprocess_exec("sh", "-c", "echo async; exit 2", stdout=subprocess.PIPE)
        out, _ = await child.communicate()
        print(out, child.returncode)

    asyncio.run(main())


def async_tasks():
    where = contextvars.ContextVar("where")

    async def task(i):
        where.set(i)
        await asyncio.sleep(0)
        return where.get() + await asyncio.to_thread(where.get)

    async def main():
        print(await asyncio.gather(*(task(i) for i in range(20))))

    asyncio.run(main())


def signals():
    got = []
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGPROF, signal.SIGURG, signal.SIGCHLD):
        signal.signal(number, lambda n, _: got.append(n))
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGPROF, signal.SIGURG):
        for _ in range(10):
            os.kill(os.getpid(), number)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.pause()
    print(sorted(got))


def signal_masks():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    os.kill(os.getpid(), signal.SIGUSR1)
    print(signal.sigpending(), signal.sigwait({signal.SIGUSR1}), signal.sigpending())
    print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    print([str(signal.getsignal(n)) for n in range(1, 32) if n not in (signal.SIGINT,)])


def fault_handler():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    os.kill(os.getpid(), signal.SIGSEGV)


def mapped_file():
    with tempfile.TemporaryFile() as f:
        f.write(b"x" * 8192)
        f.flush()
        with mmap.mmap(f.fileno(), 8192) as m:
            m[0:5] = b"hello"
            print(m[:6], len(m))


def loaded_library():
    libm = ctypes.CDLL("libm.so.6")
    libm.cos.restype = ctypes.c_double
    print(libm.cos(ctypes.c_double(0.0)))


def c_extensions():
    db = sqlite3.connect(":memory:")
    db.execute("create table t (x)")
    db.executemany("insert into t values (?)", ((i,) for i in range(1000)))
    print(db.execute("select sum(x) from t").fetchone())
    print(hashlib.sha256(b"x" * 100000).hexdigest(), zlib.crc32(b"y" * 100000))
    print(json.loads(json.dumps({"a": [1, 2, 3]})))


def echo():
    sys.stdout.write(sys.stdin.read().upper())


def much_output():
    line = "0123456789" * 10 + "\n"
    for _ in range(50000):
        sys.stdout.write(line)


def closed_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    try:
        os.write(writer, b"x")
    except BrokenPipeError as error:
        print(error)


def at_exit_order():
    for i in range(3):
        atexit.register(print, "exit", i)


def deep():
    def down(n):
        return down(n + 1)

    try:
        down(0)
    except RecursionError as error:
        print(type(error).__name__)


def closes_everything():
    os.closerange(3, 4096)
    fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(5)]
    print(fds)
    print("still here")


def descriptors():
    print(sorted(os.listdir("/proc/self/fd"))[:10])
    print(os.getcwd() == os.environ.get("PWD", os.getcwd()), oct(os.umask(0o22)))


def sockets():
    a, b = socket.socketpair()
    poll = select.epoll()
    poll.register(b, select.EPOLLIN)
    a.send(b"ping")
    print(poll.poll(1)[0][1], b.recv(10))
    print(select.select([b], [], [], 0))


def memory():
    gc.collect()
    blocks = [bytearray(i * 1000) for i in range(200)]
    print(sum(map(len, blocks)))
    try:
        bytearray(1 << 62)
    except MemoryError:
        print("MemoryError")


def limits():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        print(error.errno, len(held))


def daemonised():
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.close(reader)
            os.write(writer, b"daemon")
            os._exit(0)
        os._exit(0)
    os.close(writer)
    os.wait()
    print(os.read(reader, 100))


def generations():
    """Three deep: a child whose child has a child."""
    code = (
        "import subprocess, sys; n = int(sys.argv[1]); print(n, flush=True); "
        "n and subprocess.run([sys.executable, '-c', sys.argv[2], str(n - 1), sys.argv[2]])"
    )
    print(subprocess.run([PYTHON, "-c", code, "3", code]).returncode)


PROGRAMS = {
    name: value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == "__main__" and not name.startswith("_")
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
