"""Appends a batch of spans: first the events derived from it, then the spans themselves.

The events are derived at once, after all spans of the batch are read, and precede them in the journal: so the
sessions of the spans are known when the recorder places their lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recorder.core.formats import ForeignLine, InvalidLineError
from recorder.core.recorder import Line
from recorder.journal.batch import Read, Rejected
from recorder.journal.read import texts
from recorder.journal.spans import SpanLine
from recorder.models import Producer

if TYPE_CHECKING:
    from recorder.journal.append import Journal


def take(
    journal: Journal, producer: Producer, first: int, read: Read, known: int, rejected: list[Rejected]
) -> tuple[int, int, list[Line]]:
    """Add the new spans; return how many were accepted and repeated, and the lines for the recorder."""
    batch = read.batch
    raws = batch.lines[known:]
    parsed = [each for each in read.parsed[known:] if isinstance(each, ForeignLine | InvalidLineError)]
    accepted: list[tuple[int, SpanLine]] = []  # with their numbers
    repeated = 0  # they use up no number
    for place, line in enumerate(journal.spans.read(parsed, raws)):
        seq = first + place - repeated
        if line is None:
            repeated += 1
        elif isinstance(line, SpanLine):
            accepted.append((seq, line))
        else:
            refused = Rejected(seq, line.code, line.path, line.message)
            rejected.append(refused)
            journal.quarantine(producer, refused, batch, raws[place])

    def stored(journal_id: int) -> bytes:
        journal.write_lines()
        return texts([journal_id])[journal_id]

    sender = journal.sender(producer, batch.received_at)
    events = journal.spans.new_events([line for _, line in accepted], batch.received_at, stored)
    lines = journal.derived_lines(sender, events)
    for seq, line in accepted:
        translation = journal.spans.translation(line)
        # A model call repeats the messages of the one before it.
        repeats = f"{translation.name} {line.home}"
        recorded = journal.line(sender, translation, raws[line.place], seq, repeats=repeats)
        journal.spans.note_line(line, recorded.id)
        lines.append(recorded)
    return len(accepted), repeated, lines
