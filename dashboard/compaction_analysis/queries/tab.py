"""Compactions of a session for the tab of a loop; those on the loop's context chain first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dashboard.compaction_analysis.bars import Bar, bars
from dashboard.compaction_analysis.claim_check import Verdict, verdict
from dashboard.compaction_analysis.message_zones import Zone
from dashboard.compaction_analysis.queries.bodies import bodies
from dashboard.compaction_analysis.queries.passes import CompactionEffect, listed, passes, shown
from dashboard.web import links
from recorder.models import LoopRecord

SHOWN = 50
COMPARED = 4  # only for so many, requests are read, which can be megabytes


@dataclass(frozen=True, slots=True)
class Card:
    """One compaction; `verdict` is None when its requests were not read."""

    found: CompactionEffect
    bars: Sequence[Bar]
    zones: Sequence[Zone]
    verdict: Verdict | None
    is_here: bool  # on the context chain of the loop


@dataclass(frozen=True, slots=True)
class Tab:
    """The newest compactions of a session; root of the panel session/compactions/compactions."""

    cards: Sequence[Card]
    total: int
    all_url: str

    @property
    def here(self) -> int:
        return sum(card.is_here for card in self.cards)


def tabs(loops: Collection[int]) -> Mapping[int, Tab]:
    """Return the tab of each loop. Twelve queries, and four for each compaction whose requests are read."""
    places = LoopRecord.objects.filter(pk__in=loops).values_list("pk", "session_id", "session__project__slug")
    return {pk: _tab(pk, session, slug) for pk, session, slug in places}


def _tab(loop: int, session: int, slug: str) -> Tab:
    every = listed().filter(loop__session=session)
    newest = passes(shown(every).order_by("-pk")[:SHOWN])
    effects = sorted(newest, key=lambda item: (loop not in item.line, -item.pk))
    return Tab(
        cards=[_card(item, loop, is_compared=n < COMPARED) for n, item in enumerate(effects)],
        total=every.count(),
        all_url=links.compactions(slug, session=session),
    )


def _card(effect: CompactionEffect, loop: int, *, is_compared: bool) -> Card:
    if not is_compared:
        return Card(effect, bars(effect.claim, None), (), None, loop in effect.line)
    read = bodies(effect)
    known = read.sent or read.block
    checked = verdict(effect.claim, read.sent, effect.state, has_next=bool(effect.after), pruned=read.pruned)
    return Card(effect, bars(effect.claim, known), known.zones if known else (), checked, loop in effect.line)
