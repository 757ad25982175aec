"""Failures of a period by their reason: how often, since when, and the newest as an example.

A reason is the text of a failure with its numbers and ids left out, so that "port 8123 is in use" is one
reason. Cost: one read of the newest `READ_MAX` failures of the period, and grouping linear in their text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from dashboard.pages.attention.params import PERIODS, AttentionParams
from dashboard.pages.attention.queries.filters import selected
from dashboard.shared.queries import attention
from dashboard.web import links, time_range
from recorder.models import Project, Session

READ_MAX = 1_000
SHOWN = 20
TEXT_MAX = 300  # characters of a text that distinguish reasons: those that a record keeps
DAY = timedelta(days=1)
_VARIES = re.compile(r"\b(?=\w*\d)[\w-]+", re.ASCII)  # a word with a digit: a number, an id, a time
COLUMNS = ("pk", "title", "session_id", "outcome", "activity", "last_event_at", "head_id")


@dataclass(frozen=True, slots=True)
class Reason:
    """The failures with one reason; the texts are those of the newest."""

    key: int
    state: str
    text: str
    count: int
    first_at: datetime
    last_at: datetime
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Reasons:
    """The most frequent reasons of a period; root of the panel attention/reasons."""

    rows: Sequence[Reason]
    failures: int
    others: int  # reasons that are not shown
    is_cut: bool  # only the newest failures were read
    periods: Sequence[tuple[str, str, bool]]
    words: str


@dataclass(frozen=True, slots=True)
class ReasonsOf:
    """Query of the panel attention/reasons with these filters."""

    params: AttentionParams

    def __call__(self, projects: Collection[int]) -> Mapping[int, Reasons]:
        """Return the reasons of each project. Two queries for one project."""
        now = timezone.now()
        slugs = Project.objects.filter(pk__in=projects).values_list("pk", "slug")
        return {pk: _reasons(pk, slug, self.params, now) for pk, slug in slugs}


def bounds(period: str, now: datetime) -> tuple[datetime, datetime | None]:
    """Return the start of a period, and its end unless it lasts until now. Days are those of UTC."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "yesterday":
        return midnight - DAY, midnight
    if period == "week":
        return midnight - midnight.weekday() * DAY, None
    return midnight - 6 * DAY if period == "7d" else midnight, None


def grouped(slug: str, failures: Iterable[Session]) -> list[Reason]:
    """Return the reasons of failures, which come newest first; the most frequent first."""
    of_reason: dict[tuple[str, str], list[Session]] = {}
    for failure in failures:
        text = _VARIES.sub("#", failure.activity[:TEXT_MAX]).casefold()
        of_reason.setdefault((failure.outcome, text), []).append(failure)
    rows = [_reason(slug, found) for found in of_reason.values()]
    return sorted(rows, key=lambda row: (-row.count, -row.key))


def _reasons(project: int, slug: str, params: AttentionParams, now: datetime) -> Reasons:
    start, end = bounds(params.period, now)
    failed = attention.failed_within(project, start, end)
    if params.has_sessions:
        failed = failed.filter(pk__in=selected(project, params))
    found = list(failed.order_by("-last_event_at", "-pk").only(*COLUMNS)[: READ_MAX + 1])
    rows = grouped(slug, found[:READ_MAX])
    return Reasons(
        rows[:SHOWN],
        failures=min(len(found), READ_MAX),
        others=len(rows[SHOWN:]),
        is_cut=len(found) > READ_MAX,
        periods=[
            (words, params.but(period=name).query or "?", name == params.period)
            for name, words in PERIODS.items()
        ],
        words=time_range.within(params.period, time_range.words(params.period)),
    )


def _reason(slug: str, failures: Sequence[Session]) -> Reason:
    newest = failures[0]
    head = newest.head_id
    return Reason(
        key=newest.pk,
        state=newest.outcome,
        text=newest.activity,
        count=len(failures),
        first_at=failures[-1].last_event_at,
        last_at=newest.last_event_at,
        title=newest.title or newest.session_id,
        url=links.loop(slug, newest.pk, head) if head else links.session(slug, newest.pk),
    )
