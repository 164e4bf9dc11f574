"""Programs that end, fork or change their image while calls are traced in several threads: endings.py NAME."""

import atexit
import gc
import os
import signal
import sys
import threading
import warnings

warnings.simplefilter("ignore")  # 3.12 warns of fork() beside threads, which is what is tried here


def leaf(x):
    return x + 1


def numbers(n):
    for i in range(n):
        yield leaf(i)


def work(n=20):
    return sum(numbers(n))


def busy(until=None):
    """Calls without end, or until the event is set."""
    while until is None or not until.is_set():
        work()


def crowd(n, daemon, until=None):
    threads = [threading.Thread(target=busy, args=(until,), daemon=daemon) for _ in range(n)]
    for thread in threads:
        thread.start()
    return threads


def fork_in_a_traced_thread():
    """Each of four threads forks while the others run; the children go on calling."""
    codes = []

    def child():
        pid = os.fork()
        if pid == 0:
            work(500)
            os._exit(40 + work(2))
        codes.append(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))

    stop = threading.Event()
    others = crowd(2, False, stop)
    threads = [threading.Thread(target=child) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in [*threads]:
        thread.join()
    stop.set()
    for thread in others:
        thread.join()
    print(codes)


def fork_and_end_as_python_does():
    """The child unwinds the stack of the thread that forked and shuts its interpreter down."""
    stop = threading.Event()
    others = crowd(2, True, stop)
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        work(100)
        sys.exit(6)
    print(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))
    stop.set()
    for thread in others:
        thread.join()


def daemon_threads_at_exit():
    crowd(4, True)
    work()
    print("end")


def exit_in_threads():
    def leave():
        work()
        sys.exit(work())

    threads = [threading.Thread(target=leave) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("end")
    sys.exit(4)


def shutdown_with_running_threads():
    """Threads that are no daemons outlive the main module; others are cut off in the middle of a call."""

    def late():
        threading.main_thread().join()
        print("late", work(), flush=True)

    crowd(2, True)
    threading.Thread(target=late).start()
    print("end", flush=True)


class Dying:
    def __del__(self):
        work()


def at_exit():
    """Calls from atexit, from destructors of module globals and from the garbage collector at shutdown."""
    global kept
    kept = Dying()
    kept.itself = kept
    gc.callbacks.append(lambda *said: work(2))
    atexit.register(print, "first registered")
    atexit.register(lambda: print("last registered", work()))
    crowd(1, True)
    print("end")


def underscore_exit():
    crowd(3, True)
    threading.Thread(target=lambda: (work(), os._exit(7))).start()
    busy()


def exec_from_a_thread():
    def leave():
        work(200)
        os.execv(sys.executable, [sys.executable, "-c", "print('another'); raise SystemExit(9)"])

    crowd(2, True)
    threading.Thread(target=leave).start()
    busy()


def killed_in_a_call():
    threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGKILL)).start()
    crowd(2, True)
    busy()


def interrupted():
    """KeyboardInterrupt arrives in the middle of calls."""
    threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        busy()
    except KeyboardInterrupt:
        print("interrupted", work())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
