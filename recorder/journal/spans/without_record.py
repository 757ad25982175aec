"""Spans that changed no record: those of units without a loop, their sender, the names of their attributes.

The columns of a unit that has a loop are empty: a model call that comes later takes its trace off the list.
Values of attributes are never kept. Names are of masked lines, as all that is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import OuterRef, Q, QuerySet, Subquery

from recorder.core.content.text import clean
from recorder.core.formats.otlp.spans.attributes import identifier
from recorder.core.formats.otlp.spans.digest import Digest, Item
from recorder.core.formats.otlp.unit import Unit
from recorder.models import AccessToken, SpanUnit

NAMES_MAX = 40  # of the attributes of one unit
NAME_MAX = 80  # characters
TEXT_MAX = 4_000  # of all names, as they are stored
SENDER_MAX = 200
SHOWN = 3  # services, and scopes, of one unit
COLUMNS = ("unrecorded_spans", "unrecorded_token", "unrecorded_sender", "unrecorded_names")
_FRAME = "frame "
# Lines of spans that are no call, tool or agent and whose trace has no loop. They wait for a loop of their
# trace, and are no events of a loop that was lost.
SPAN_LINES = Q(loop_key__startswith="spans-", type__startswith=_FRAME)
SETS = ", ".join(f"{column} = %s" for column in COLUMNS)

Columns = tuple[int | None, int, str, str]


class AttributeNames:
    """The names of the attributes of units without a loop, by primary key of the unit."""

    def __init__(self) -> None:
        self._names: dict[int, dict[str, None]] = {}

    def load(self, pk: int, stored: str) -> None:
        """Take the names that a unit has so far."""
        self._names[pk] = dict.fromkeys(stored.split("\n") if stored else ())

    def add(self, pk: int, item: Item) -> None:
        """Add the names of a span, at most NAMES_MAX a unit."""
        if item.digest.is_log:
            return
        names = self._names.setdefault(pk, {})
        for name in item.attributes:
            if len(names) >= NAMES_MAX:
                return
            if shown := clean(identifier(name)[:NAME_MAX]):
                names[shown] = None

    def join(self, into: int, pk: int) -> None:
        """Add the names of a unit to those of the one that it was joined into."""
        names = self._names.get(into, {}) | self._names.pop(pk, {})
        self._names[into] = dict.fromkeys([*names][:NAMES_MAX])

    def columns(self, pk: int, unit: Unit) -> Columns:
        """Return what is stored of a unit, in the order of COLUMNS."""
        spans = [each for each in unit.digests.values() if not each.is_log]
        if unit.recorded or unit.covered or not spans:
            return None, 0, "", ""
        token = max(spans, key=lambda each: each.end).token
        return len(spans), token, sender_of(spans), "\n".join(self._names.get(pk, ()))


def type_of(digest: Digest) -> str:
    """Return the type of the line of a span, its kind and name, or of a log record: its name.

    That of a log record never begins like that of a frame.
    """
    if not digest.is_log:
        return f"{digest.kind} {digest.name}"
    name = digest.name or "log"
    return f"log {name}" if name.startswith(_FRAME) else name


def sender_of(spans: Iterable[Digest]) -> str:
    """Return the services of some spans and the scopes that emit them, `SHOWN` of each."""
    spans = list(spans)
    parts = _listed(each.service for each in spans), _listed(each.emitter for each in spans)
    return clean(" · ".join(filter(None, parts)), SENDER_MAX)


def _listed(names: Iterable[str]) -> str:
    found = sorted(set(filter(None, names)))
    return ", ".join(found[:SHOWN]) + (" …" if len(found) > SHOWN else "")


def found(project: int) -> QuerySet[SpanUnit]:
    """Return the units of a project with spans that changed no record, with the name of the `token`."""
    names = AccessToken.objects.filter(pk=OuterRef("unrecorded_token")).values("name")[:1]
    units = SpanUnit.objects.filter(project=project, unrecorded_spans__isnull=False)
    return units.annotate(token_name=Subquery(names)).defer("state")


def forget(project: int, before: datetime) -> None:
    """Forget the spans that changed no record and were received before a time."""
    units = SpanUnit.objects.filter(
        project=project, unrecorded_spans__isnull=False, last_received_at__lt=before
    )
    units.update(unrecorded_spans=None, unrecorded_token=0, unrecorded_sender="", unrecorded_names="")
