"""Masks the lines of a batch, and recognises lines that are sent again though they were masked.

A stored line has marks: the fingerprint of its text and, if masking changed it, the keyed hash of the line as
it was received. A received line has the same two, and the fingerprint of what masking makes of it. Lines that
have a mark in common are the same: also if rules changed between, and if a stored line is exported and sent
again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from recorder.database import sql
from recorder.journal.batch import Batch, Received
from recorder.journal.delta.encoding import fingerprint
from recorder.journal.read import fingerprints
from recorder.masking.masker import Masker

Marks = frozenset[bytes]
_ORIGINALS = "SELECT id, original FROM recorder_journalevent WHERE original IS NOT NULL AND "


def masked(batch: Batch, masker: Masker) -> Batch:
    """Return a batch with its lines masked; it holds what recognises the lines that were changed."""
    changed: dict[int, bytes] = {}
    for place, line in enumerate(batch.lines):
        found = masker.mask(line).line
        if found is not line:
            changed[place] = found
    if not changed:
        return batch
    lines = [changed.get(place, line) for place, line in enumerate(batch.lines)]
    received = {
        place: Received(fingerprint(line), masker.original(line), line)
        for place, line in ((place, batch.lines[place]) for place in changed)
    }
    return replace(batch, lines=lines, received=received)


def marks_of(line: bytes, masker: Masker, received: Received | None = None) -> Marks:
    """Return the marks of a line; `received`: marks of the line as it arrived, if it was masked since."""
    if received is not None:
        return frozenset((fingerprint(line), received.fingerprint, received.original))
    return frozenset((fingerprint(line), fingerprint(masker.mask(line).line), masker.original(line)))


def marks(lines: Collection[int]) -> dict[int, Marks]:
    """Return the marks of stored lines by their journal ids, also of pruned ones. Two queries."""
    found = {line: frozenset((mark,)) for line, mark in fingerprints(lines).items()}
    if found:
        rows = sql.read(_ORIGINALS + sql.in_list("id"), sql.list_param(list(found)))
        found |= {line: found[line] | {bytes(original)} for line, original in rows}
    return found


def unstored(lines: Iterable[bytes], stored: Collection[Marks], masker: Masker) -> list[bytes]:
    """Return the lines that are none of the stored ones, in order."""
    every = frozenset[bytes]().union(*stored)
    return [line for line in lines if every.isdisjoint(marks_of(line, masker))]


def are_same(lines: Sequence[bytes], stored: Sequence[Marks], masker: Masker) -> bool:
    """Return whether lines are the stored ones, in the same order."""
    return len(lines) == len(stored) and all(
        not have.isdisjoint(marks_of(line, masker)) for line, have in zip(lines, stored, strict=True)
    )


def hashed(text: str) -> str:
    """Return a short hash of an id of any length."""
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()
