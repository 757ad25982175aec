"""Lines of transcripts: to which loop one belongs, and what is done with one of an unknown type."""

from __future__ import annotations

from recorder.core.formats.base import Fields, Translation, object_field
from recorder.core.formats.transcripts.fields import before
from recorder.core.formats.transcripts.open_loop import OpenLoop

TYPES_MAX = 100  # unknown types of one stream that are counted
_CONTENTS = ("message", "messages", "usage", "tokens")


def loop_of_line(loop: OpenLoop | None, events: list[Fields], key: str) -> str | None:
    """Return the loop that a line with these events belongs to; one behind an end goes to the next loop.

    `key` is what `before` names the next loop by.
    """
    is_behind = loop is None or (loop.has_ended and not events)
    return before(key) if loop is None or is_behind else loop.loop_id


def has_content(line: Fields) -> bool:
    """Return whether a line has what records are made of."""
    return any(each.get(name) for each in (line, object_field(line, "payload")) for name in _CONTENTS)


def keep_unknown(reading: Translation, line: Fields, types: dict[str, int]) -> None:
    """Keep a line of an unknown type: an inconsistency of its session only if it has a message or usage.

    `types` are those that came before in the stream. The first line of each of `TYPES_MAX` is counted.
    """
    if has_content(line):
        reading.understood = False
        return
    reading.is_new_type = reading.name not in types and len(types) < TYPES_MAX
    if reading.is_new_type:
        types[reading.name] = 1
