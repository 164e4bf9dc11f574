"""Runs a program and writes how often each of its functions was called, as Python itself sees it.

oracle.py PROGRAM OUT alone|threads:  cProfile, or sys.setprofile in every thread.
"""

import cProfile
import json
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType

path, out, mode = sys.argv[1:4]
sys.argv[:] = [path]
code = compile(Path(path).read_text(), path, "exec")
names = {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__}
counts: dict[str, int] = {}
me = os.getpid()
status: object = 0


def note(frame: FrameType, event: str, _: object) -> None:
    if event == "call" and frame.f_code.co_filename == path:
        here = frame.f_code
        key = f"{here.co_name}:{here.co_firstlineno}"
        counts[key] = counts.get(key, 0) + 1


profile = cProfile.Profile(builtins=False)
if mode == "alone":
    profile.enable()
else:
    threading.setprofile(note)
    sys.setprofile(note)
try:
    exec(code, names)
except SystemExit as end:
    status = end.code
finally:
    profile.disable() if mode == "alone" else sys.setprofile(None)
    threading.setprofile(None)
for entry in profile.getstats():
    if isinstance(entry.code, CodeType) and entry.code.co_filename == path:
        key = f"{entry.code.co_name}:{entry.code.co_firstlineno}"
        counts[key] = counts.get(key, 0) + entry.callcount
if os.getpid() == me:
    Path(out).write_text(json.dumps(counts))
sys.exit(status)  # type: ignore[arg-type]
