"""OpenTelemetry: spans and log records of agents, read into loops, turns and tool calls.

A span arrives when it ends, so children come before their parents and the root last or never. What is read
from the spans of one unit (a trace, or traces that belong together) is therefore a function of the set of its
spans, not of their order:

- `spans` reads one span or log record into a `Digest`: its kind, ids, times and usage, without content;
- `plan` makes loops, turns and tool calls of the digests of a unit;
- `outline` lists the events of each loop without their content, and `events` adds the content of spans;
- `unit` keeps the digests and returns the events that are missing in what was recorded before;
- `joining` gives the keys by which spans of different traces are read together.

`spans/names.py` has the attribute names of all conventions with their sources.
"""
