"""The calls to which a log record without a span may belong.

Cost: a record looks at no more than `AROUND_MAX` calls of each kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from recorder.core.formats.otlp.plan.by_time import ByTime
from recorder.core.formats.otlp.spans.digest import Digest
from recorder.core.formats.otlp.spans.usage import tokens

if TYPE_CHECKING:
    from recorder.core.formats.otlp.plan.calls import Call

AROUND_MAX = 50  # calls of one moment with equal figures that are looked at
LATE_NS = 5_000_000_000  # a log record of a call is written at most so long after it
TEXTS = frozenset(("assistant_response",))


class CallsOfNotes:
    """Calls by what a log record without a span must have equal, and by time."""

    def __init__(self, calls: Sequence[Call]) -> None:
        found: dict[tuple[object, ...], list[Call]] = defaultdict(list)
        for call in calls:
            known = call.span.usage
            figures = (known["total_in"], known["output"]) if known is not None else ()
            for key in (figures, ("parent", call.span.parent), ("any",)):
                found[key].append(call)
        self._by_time = {key: ByTime(group, lambda call: call.span) for key, group in found.items()}

    def calls(self, note: Digest) -> Iterator[Call]:
        """Yield the calls of the time of a record with its parent or its figures, or without figures."""
        keys: list[tuple[object, ...]]
        if note.name in TEXTS:
            keys = [("parent", note.id) if note.id else ("any",)]
        else:
            sent = note.usage or {}
            thoughts = sent.get("reasoning", 0) if note.runtime in tokens.EXCLUDES_REASONING else 0
            keys = [(sent["total_in"], sent["output"] - thoughts), ()] if sent else [()]
        groups = (self._by_time[key] for key in keys if key in self._by_time)
        found = (group.between(note.start - LATE_NS, note.start) for group in groups)
        return chain.from_iterable(islice(each, AROUND_MAX) for each in found)
