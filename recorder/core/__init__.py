"""The pure half of the recorder: events in, changes out; no Django, no clock, no I/O."""
