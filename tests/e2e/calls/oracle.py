"""Runs a program and writes what Python itself sees of the calls of its functions.

oracle.py PROGRAM OUT alone|threads|resumes|times|native
    alone     how often each was called, by cProfile
    threads   the same by sys.setprofile, in every thread
    resumes   how often, and how often of that in a frame that had been entered before
    times     own and whole seconds, by cProfile
    native    how often each called each C function, by cProfile
"""

import cProfile
import json
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

path, out, mode = sys.argv[1:4]
sys.argv[:] = [path]
code = compile(Path(path).read_text(), path, "exec")
names = {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__}
counts: dict[str, Any] = {}
frames: dict[int, FrameType] = {}  # kept, so that no number comes twice
me = os.getpid()
status: object = 0


def note(frame: FrameType, event: str, _: object) -> None:
    if event == "call" and frame.f_code.co_filename == path:
        here = frame.f_code
        key = f"{here.co_name}:{here.co_firstlineno}"
        if mode == "resumes":
            calls, resumes = counts.get(key, (0, 0))
            counts[key] = (calls + 1, resumes + (id(frame) in frames))
            frames[id(frame)] = frame
        else:
            counts[key] = counts.get(key, 0) + 1


profile = cProfile.Profile(builtins=mode == "native")
by_profile = mode in ("alone", "times", "native")
if by_profile:
    profile.enable()
else:
    threading.setprofile(note)
    sys.setprofile(note)
try:
    exec(code, names)
except SystemExit as end:
    status = end.code
finally:
    profile.disable() if by_profile else sys.setprofile(None)
    threading.setprofile(None)
for entry in profile.getstats():
    if isinstance(entry.code, CodeType) and entry.code.co_filename == path:
        key = f"{entry.code.co_name}:{entry.code.co_firstlineno}"
        if mode == "native":
            called = [sub for sub in entry.calls or () if isinstance(sub.code, str)]
            counts.setdefault(key, []).extend((sub.code, sub.callcount) for sub in called)
        elif mode == "times":
            counts[key] = (entry.inlinetime, entry.totaltime)
        else:
            counts[key] = counts.get(key, 0) + entry.callcount
if os.getpid() == me:
    Path(out).write_text(json.dumps(counts))
sys.exit(status)  # type: ignore[arg-type]
