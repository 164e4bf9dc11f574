"""Run by a Python that has HolisticTraceAnalysis: a trace to its tables, and what that took as JSON."""

from __future__ import annotations

import json
import os
import resource
import sys
import time

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"


def main() -> None:
    from hta.trace_analysis import TraceAnalysis  # type: ignore[import-not-found]

    begin, used = time.monotonic(), time.process_time()
    analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="", include_last_profiler_step=True)
    table = analysis.get_temporal_breakdown(visualize=False)
    analysis.get_gpu_kernel_breakdown(visualize=False)
    analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
    idle = float(table["idle_time_pctg"].iloc[0])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = {"wall_s": time.monotonic() - begin, "cpu_s": time.process_time() - used, "peak_kb": peak, "idle": idle}
    print(json.dumps(said))


main()
