"""Run by a Python that has PyPI's perfetto: every slice, flow, counter and sample of a trace, as JSON on stdout.

The classes are generated from Perfetto's own definitions: what we wrote by hand is read by what nobody here wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-not-found,import-untyped,unused-ignore]
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent  # type: ignore[import-not-found]


def notes_of(event: Any) -> dict[str, Any]:
    found = {}
    for note in event.debug_annotations:
        kind = note.WhichOneof("value")
        value = getattr(note, kind)
        found[note.name] = json.loads(value) if kind == "legacy_json_value" else value
    return found


def main() -> None:
    trace = Trace()
    trace.ParseFromString(Path(sys.argv[1]).read_bytes())
    names: dict[int, str] = {}
    threads: dict[int, tuple[int, int]] = {}
    counters: dict[int, str] = {}
    open_slices: dict[int, list[tuple[list[Any], dict[str, Any]]]] = {}
    slices: list[Any] = []
    notes: list[dict[str, Any]] = []
    values: list[Any] = []
    marks: list[Any] = []
    flows: list[int] = []
    samples = unknown = 0
    stacks: dict[int, int] = {}
    for packet in trace.packet:
        unknown += len(UnknownFieldSet(packet)) + len(UnknownFieldSet(packet.track_event))
        for entry in packet.interned_data.event_names:
            names[entry.iid] = entry.name
        for entry in packet.interned_data.callstacks:
            stacks[entry.iid] = len(entry.frame_ids)
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            if track.HasField("thread"):
                threads[track.uuid] = (track.thread.pid, track.thread.tid)
            if track.HasField("counter"):
                counters[track.uuid] = track.name
        if packet.HasField("perf_sample"):
            samples += 1
            assert packet.perf_sample.callstack_iid in stacks
    # In the order of time, as Perfetto puts them: packets of one moment keep theirs.
    for packet in sorted(trace.packet, key=lambda packet: packet.timestamp):
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        flows += [*event.flow_ids, *event.terminating_flow_ids]
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            row = [names[event.name_iid], threads.get(event.track_uuid, (0, 0))[1], packet.timestamp, None]
            slices.append(row)
            notes.append(notes_of(event))
            open_slices.setdefault(event.track_uuid, []).append((row, notes[-1]))
        elif event.type == TrackEvent.TYPE_SLICE_END:
            row, about = open_slices[event.track_uuid].pop()
            row[3] = packet.timestamp
            about.update(notes_of(event))
        elif event.type == TrackEvent.TYPE_COUNTER:
            values.append([counters[event.track_uuid], packet.timestamp, event.double_counter_value])
        else:
            marks.append([names[event.name_iid], threads[event.track_uuid][1], packet.timestamp])
    found = {"slices": slices, "counters": values, "marks": marks, "samples": samples, "flows": flows, "notes": notes}
    json.dump({**found, "unknown": unknown, "open": sum(map(len, open_slices.values()))}, sys.stdout)


if __name__ == "__main__":
    main()
