"""Hashes of the entries of a loop, by which a unit knows what is recorded of it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from recorder.core.formats.otlp.outline import Entry


@dataclass(slots=True)
class Prints:
    """Hashes of the beginnings of the entries, "" of none, and the last turn if it ended with the entries."""

    begun: str = ""  # of as many entries as are recorded
    begun_but_last: str = ""
    begun_turn: str = ""  # of these without the recorded end of the last turn and what follows it
    whole: str = ""
    but_last: str = ""
    turn: int = 0  # index of the last turn
    turn_print: str = ""  # of the entries before its end
    tail: int = 0  # entries from its end on: 1, 2 with the end of the loop, 0 if it goes on


def prints_of(entries: Sequence[Entry], recorded: int, tail: int = 0) -> Prints:
    """Return the hashes of entries of which so many are recorded, `tail` of them from a turn's end on.

    One pass.
    """
    hashed, found = hashlib.blake2b(digest_size=8), Prints()
    for place, entry in enumerate(entries, 1):
        found.but_last = found.whole
        hashed.update(repr(entry.signature).encode(errors="replace"))
        found.whole = hashed.hexdigest()
        if place == recorded:
            found.begun, found.begun_but_last = found.whole, found.but_last
        if place == recorded - tail:
            found.begun_turn = found.whole
        _note_turn(found, entry)
    return found


def _note_turn(found: Prints, entry: Entry) -> None:
    if entry.step == "turn":
        found.turn = int(str(entry.facts[0]))
    if entry.step == "turn_end":
        found.turn_print, found.tail = found.but_last, 1
    else:
        found.tail = 2 if entry.step == "end" and found.tail == 1 else 0
