"""Joins this process to a session; imported by inferscope.pth or by our sitecustomize, perhaps twice.

Never raises and never prints: whatever goes wrong, the program runs as it would without us.
"""

import os
import sys


def _boot():
    if getattr(sys, "_inferscope_boot", None) == os.getpid():
        return
    sys._inferscope_boot = os.getpid()
    if os.getuid() != os.geteuid() or os.getgid() != os.getegid():
        return  # somebody else's environment speaks to a privileged program
    if "t" in getattr(sys, "abiflags", ""):
        return  # the free-threaded build would switch its GIL on for us
    before = set(sys.modules)
    try:
        _join()
    finally:
        # The program's own view: no module that it did not import, none in the list of extension
        # modules that a fatal error prints, and no folder that it did not search.
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == "inferscope":
                del sys.modules[name]
        if "inferscope" not in sys.modules:
            sys.path_importer_cache.pop(_package(), None)


def _join():
    clock = sys.modules.get("time")  # which the interpreter itself has imported
    began = clock.thread_time_ns() if clock is not None else 0
    _stand_in()
    from inferscope import _core

    if _core.inert:
        return
    folder = os.environ.get("INFERSCOPE_SESSION")
    if not folder and os.environ.get("INFERSCOPE_ENABLED") == "1":
        folder = _start_recorder()
    if folder:
        _core.attach(folder, began)


def _stand_in():
    """Let the modules of the package beside this file be found without running the package itself."""
    if "inferscope" not in sys.modules:
        package = type(sys)("inferscope")
        package.__path__ = [_package()]
        sys.modules["inferscope"] = package


def _package():
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "inferscope")


def _start_recorder():
    """Start a recorder that outlives nothing but this process and its children; its session folder."""
    from inferscope import _command, _recorder

    command = _command.find()
    if command is None:
        return None
    lines, _ = _recorder.start(command)
    if not lines:
        return None
    os.environ["INFERSCOPE_SESSION"] = lines[0]
    if len(lines) > 1 and lines[1].startswith("/"):
        theirs = os.environ.get("LD_PRELOAD")
        os.environ["LD_PRELOAD"] = lines[1] + (":" + theirs if theirs else "")
    # What loads them has not been used yet; another tool's stays.
    if len(lines) > 2 and lines[2].startswith("/"):
        os.environ.setdefault("CUDA_INJECTION64_PATH", lines[2])
    if len(lines) > 3 and lines[3].startswith("/"):
        theirs = os.environ.get("OPENCL_LAYERS")
        os.environ["OPENCL_LAYERS"] = (theirs + ":" if theirs else "") + lines[3]
    return lines[0]


try:
    _boot()
except BaseException:  # an unfit _core, a package half removed: the program runs untraced
    pass
