"""Starting the native recorder: a process of its own that outlives nothing but this one and its children."""

import os

# This process waits so long for its recorder, then goes on without one.
_PATIENCE_S = 2.0


def start(command: str, *options: str) -> "tuple[list[str], str]":
    """Run ``inferscope watch`` for this process.

    What it says: the session folder, the library to preload, and those that the CUDA driver and the OpenCL loader
    are to load (empty: none); or nothing and why.
    """
    environment = dict(os.environ)
    environment.pop("INFERSCOPE_ENABLED", None)  # a recorder is never recorded
    readable, writable = os.pipe()
    try:
        actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, writable, 1)]
        if options:  # who asks for more than a recorder can be told what is wrong
            actions.append((os.POSIX_SPAWN_DUP2, writable, 2))
        child = os.posix_spawn(
            command, [command, "watch", "--pid", str(os.getpid()), *options], environment, file_actions=actions
        )
    except BaseException:
        os.close(readable)
        raise
    finally:
        os.close(writable)
    try:
        said = os.fsdecode(_read_all(readable, child))
    finally:
        os.close(readable)
    lines = said.split("\n")[:4] if said.endswith("\n") else []
    if lines and lines[0].startswith("/"):
        return lines, ""
    return [], said.strip() or "inferscope: the recorder does not answer"


def _read_all(readable: int, child: int) -> bytes:
    """Everything up to the end of the pipe, with the child reaped; nothing when that takes too long.

    Polls: a blocking read could not be bounded without a signal, and those belong to the program.
    """
    import time

    os.set_blocking(readable, False)
    deadline = time.monotonic() + _PATIENCE_S
    said, ended, reaped = b"", False, False
    while not (ended and reaped):
        if not ended:
            try:
                piece = os.read(readable, 4096)
                said += piece
                ended = not piece
            except BlockingIOError:
                pass
        if not reaped:
            try:
                reaped = os.waitpid(child, os.WNOHANG)[0] == child
            except ChildProcessError:  # SIGCHLD is ignored here: the kernel reaped it
                reaped = True
        if time.monotonic() > deadline:
            if not reaped:
                os.kill(child, 9)
                os.waitpid(child, 0)
            return b""
        if not (ended and reaped):
            time.sleep(0.0005)
    return said
