"""Hashes of the entries of a loop, by which a unit knows what is recorded of it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from recorder.core.formats.otlp.outline import Entry


@dataclass(slots=True)
class Prints:
    """Of as many entries as are recorded, of all, and of both without their last one; "" of none."""

    begun: str = ""
    begun_but_last: str = ""
    whole: str = ""
    but_last: str = ""


def prints_of(entries: Sequence[Entry], recorded: int) -> Prints:
    """Return the hashes of entries of which so many are recorded. One pass."""
    hashed, found = hashlib.blake2b(digest_size=8), Prints()
    for place, entry in enumerate(entries, 1):
        found.but_last = found.whole
        hashed.update(repr(entry.signature).encode(errors="replace"))
        found.whole = hashed.hexdigest()
        if place == recorded:
            found.begun, found.begun_but_last = found.whole, found.but_last
    return found
