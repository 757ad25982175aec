"""The waste of a session as a table: what was found, how often, what it cost, and where it occurred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.shared.waste.queries import places
from dashboard.shared.waste.queries.places import Place
from dashboard.shared.waste.queries.wastes import Wasted, WasteRow, of_session, total
from dashboard.shared.waste.words import MEANINGS

SHOWN = 50  # findings, the dearest
LINKED = 40  # occurrences of a finding with a link each


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One occurrence; `words` name its turn."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One waste with its occurrences, the first of them where it is no waste yet."""

    waste: WasteRow
    occurrences: Sequence[Occurrence]
    more: int  # occurrences without a link

    @property
    def meaning(self) -> str:
        return MEANINGS.get(self.waste.rule, "")


@dataclass(frozen=True, slots=True)
class Findings:
    """The waste of a session or of one loop, the dearest first."""

    shown: Sequence[Finding]
    more: int
    wasted: Wasted  # of all, also of those not shown


def findings(slug: str, session: int, loop: int = 0) -> Findings | None:
    """Return the waste of a session, or of one loop of it; None without any.

    Three queries, one without waste.
    """
    rows = [row for row in of_session(session) if loop in (0, row.loop)]
    if not rows:
        return None
    shown = rows[:SHOWN]
    at = places.of_calls([row.pk for row in shown])
    first = places.of_lines([row.first_line for row in shown])
    return Findings(
        [_finding(slug, row, at.get(row.pk, []), first.get(row.first_line)) for row in shown],
        len(rows) - len(shown),
        total(rows),
    )


def _finding(slug: str, row: WasteRow, calls: Sequence[Place], first: Place | None) -> Finding:
    found = list(calls)
    if first is not None and first not in found:
        found.insert(0, first)
    linked = [Occurrence(f"turn {place.number:,}", place.url(slug)) for place in found[:LINKED]]
    return Finding(row, linked, len(found) - len(linked))
