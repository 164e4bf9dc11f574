#!/usr/bin/env python3
"""The demo of the CPU profiler, tools/profiler_demo.py, under the name by which other documents know it."""

from __future__ import annotations

import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).resolve().parent.parent / "tools" / "profiler_demo.py"), run_name="__main__")
