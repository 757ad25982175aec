"""Database queries of the masking page: the rules of a project, and the newest recorded lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from django.db.models import Min, Sum

from recorder.journal.read import texts
from recorder.masking import project_rules
from recorder.masking.catalogue import CANDIDATES, DEFINITE
from recorder.masking.rule import Rule
from recorder.models import JournalEvent, MaskCount, Producer, Project

PRODUCERS = 8  # the newest ones, whose lines a dry run searches
LINES_MAX = 1_000
LINE_BYTES = 64 * 1024  # of a line; longer ones are not searched
BYTES_MAX = 4 * 1024 * 1024
ANCHORS_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Switch:
    """A rule of ours as the page shows it."""

    name: str
    title: str
    anchors: str
    is_on: bool
    masked: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern of a project as the page shows it."""

    name: str
    pattern: str
    is_on: bool
    masked: int


@dataclass(frozen=True, slots=True)
class ProjectRules:
    """All rules of a project. `masked` is since the day `since` (UTC), also by rules that are gone."""

    definite: Sequence[Switch]
    candidates: Sequence[Switch]
    patterns: Sequence[Pattern]
    masked: int
    since: date | None

    @property
    def definite_on(self) -> int:
        return sum(rule.is_on for rule in self.definite)

    @property
    def candidates_on(self) -> int:
        return sum(rule.is_on for rule in self.candidates)

    @property
    def patterns_on(self) -> int:
        return sum(own.is_on for own in self.patterns)


def rules(project: Project) -> ProjectRules:
    """Return the rules of a project, and how many values each masked. Two queries."""
    found = project_rules.load(project.pk)
    counted = MaskCount.objects.filter(project=project).values_list("rule")
    rows = list(counted.annotate(total=Sum("masked"), first=Min("day")))
    counts = {name: total for name, total, _ in rows}
    return ProjectRules(
        [_switch(rule, counts, is_on=rule.name not in found.off) for rule in DEFINITE],
        [_switch(rule, counts, is_on=rule.name in found.on) for rule in CANDIDATES],
        [Pattern(own.name, own.pattern, own.is_on, counts.get(own.name, 0)) for own in found.patterns],
        masked=sum(counts.values()),
        since=min((first for _, _, first in rows), default=None),
    )


def newest_lines(project: Project) -> Sequence[bytes]:
    """Return the newest lines of the newest producers, at most `LINES_MAX` and `BYTES_MAX`, the newest first.

    Pruned lines and those above `LINE_BYTES` are left out. At most `PRODUCERS` + 2 queries: the journal has
    no index by project, but one by producer and number.
    """
    producers = Producer.objects.filter(project=project).exclude(last_seen_at=None).order_by("-last_seen_at")
    found: list[tuple[int, int]] = []
    for producer in producers.values_list("pk", flat=True)[:PRODUCERS]:
        lines = JournalEvent.objects.filter(producer=producer, seq__isnull=False).order_by("-seq")
        sizes = lines.values_list("pk", "size", "pruned_on")[:LINES_MAX]
        found += [(pk, size) for pk, size, pruned_on in sizes if pruned_on is None and size <= LINE_BYTES]
    wanted, total = [], 0
    for pk, size in sorted(found, reverse=True)[:LINES_MAX]:
        total += size
        if total > BYTES_MAX:
            break
        wanted.append(pk)
    restored = texts(wanted)
    return [restored[pk] for pk in wanted if pk in restored]


def _switch(rule: Rule, counts: Mapping[str, int], *, is_on: bool) -> Switch:
    shown = ", ".join(rule.anchors[:ANCHORS_SHOWN])
    anchors = f"{shown}, …" if rule.anchors[ANCHORS_SHOWN:] else shown
    return Switch(rule.name, rule.title, anchors, is_on, counts.get(rule.name, 0))
