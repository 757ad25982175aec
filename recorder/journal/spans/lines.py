"""Appends a batch of spans: first the events derived from it, then the spans themselves.

The events are derived at once, after all spans of the batch are read, and precede them in the journal: so the
sessions of the spans are known when the recorder places their lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recorder.core.formats import ForeignLine, InvalidLineError
from recorder.journal.batch import AppendedLines, Read, Rejected
from recorder.journal.spans.reader import SpanLine
from recorder.models import Producer

if TYPE_CHECKING:
    from recorder.journal.append import Journal


def append(
    journal: Journal, producer: Producer, first: int, read: Read, known: int, rejected: list[Rejected]
) -> AppendedLines:
    """Append the new spans; return the counts and lines. Those of deleted sessions count as repeated."""
    batch = read.batch
    raws = batch.lines[known:]
    parsed = [each for each in read.parsed[known:] if isinstance(each, ForeignLine | InvalidLineError)]
    accepted: list[tuple[int, SpanLine]] = []  # with their numbers
    repeated = 0  # such lines use up no number
    for place, line in enumerate(journal.spans.read(parsed, raws, batch.token)):
        seq = first + place - repeated
        if line is None:
            repeated += 1
        elif isinstance(line, SpanLine):
            accepted.append((seq, line))
        else:
            refused = Rejected(seq, line.code, line.path, line.message)
            rejected.append(refused)
            journal.quarantine.add(producer, refused, batch, raws[place])

    sender = journal.sender(producer, batch.received_at)
    events = journal.spans.new_events([line for _, line in accepted], batch.received_at, journal.stored)
    lines = journal.derived_lines(sender, events)
    for seq, line in accepted:
        translation = journal.spans.translation(line)
        # A model call repeats the messages of the one before it.
        repeats = f"{translation.name} {line.home}"
        recorded = journal.line(
            sender,
            translation,
            raws[line.place],
            seq,
            received=batch.received.get(known + line.place),
            repeats=repeats,
        )
        journal.spans.note_line(line, recorded.id)
        lines.append(recorded)
    return AppendedLines(len(accepted), repeated, lines=lines)
