"""Where the traces of real GPUs lie.

They are not part of the project: INFERSCOPE_TRACES names their folder, by default ../shared/data/kineto beside
the project.  Each has its expected numbers in oracle/NAME.oracle.json.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TRACES = Path(os.environ.get("INFERSCOPE_TRACES", ROOT.parent / "shared" / "data" / "kineto"))
ABSENT = f"no traces of real GPUs in {TRACES}: set INFERSCOPE_TRACES to their folder"


def names(ending: str = ".json.gz") -> list[str]:
    """Names of all traces there; one that is skipped when there are none."""
    found = sorted(path.name[: -len(ending)] for path in TRACES.glob(f"*{ending}"))
    return found or ["absent"]
