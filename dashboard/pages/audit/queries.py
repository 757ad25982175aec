"""Database queries of the audit log's page: one page of entries by day, its menus, and all rows of a file."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from itertools import groupby

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import QuerySet

from dashboard.live.paged_list import Listing, listing
from dashboard.pages.audit.changes import Change, change
from dashboard.pages.audit.params import AuditParams
from dashboard.shared.audit_log import queries
from dashboard.shared.audit_log.schemas import AuditItem
from dashboard.web.filters import Menu, Option
from dashboard.web.lists.download import CHUNK
from recorder.models import AuditEntry, Project
from recorder.operations.audit_actions import describe

ACTORS_MAX = 200
ICONS = {"token": "key-round", "command": "terminal"}
User = AbstractBaseUser | AnonymousUser


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One entry. A user without an icon has their initial."""

    pk: int
    at: datetime
    kind: str
    actor: str
    icon: str
    action: str
    words: str
    is_refusal: bool
    target: str
    change: Change
    address: str


@dataclass(frozen=True, slots=True)
class Day:
    """The entries of a page on one day of the reader's time zone; `word` is Today, Yesterday or ""."""

    date: date
    word: str
    rows: Sequence[AuditRow]


@dataclass(frozen=True, slots=True)
class Shown:
    """One page of the log."""

    listing: Listing
    days: Sequence[Day]


def page(project: Project, user: User, params: AuditParams, now: datetime, zone: tzinfo) -> Shown:
    """Return a page of the log, newest first, by days of a time zone. Six queries at most."""
    found = listing(queries.matching(project, user, params.wanted(now)), params)
    entries = AuditEntry.objects.in_bulk(found.pks)
    names = queries.token_names(project)
    rows = [_row(entries[pk], names) for pk in found.pks if pk in entries]
    days = groupby(rows, lambda row: row.at.astimezone(zone).date())
    today = now.astimezone(zone).date()
    return Shown(found, [Day(day, _word(day, today), list(of_day)) for day, of_day in days])


def menus(project: Project, user: User, params: AuditParams) -> Sequence[Menu]:
    """Return the actors and the actions that are recorded. Three queries."""
    rows = queries.readable(project, user).order_by()
    names = queries.token_names(project)
    actors = {
        actor: names.get(actor, actor) if kind == "token" else actor
        for kind, actor in _distinct(rows.exclude(actor=""), "actor_kind", "actor")[:ACTORS_MAX]
    }
    actions = {action: describe(action).words for (action,) in _distinct(rows, "action")}
    return (
        Menu("Actor", _options("actor", actors, params.actor)),
        Menu("Action", _options("action", actions, params.action)),
    )


def chunks(project: Project, user: User, params: AuditParams, now: datetime) -> Iterator[Sequence[AuditItem]]:
    """Return all entries that match, newest first, some at a time. One query, and one a chunk.

    All keys are read first, as 8 bytes each: the entry of the download itself is not part of it.
    """
    rows = queries.matching(project, user, params.wanted(now)).order_by("-pk")
    pks = array("q", rows.values_list("pk", flat=True).iterator(chunk_size=2_000))
    return _chunks(project, pks)


def _chunks(project: Project, pks: array[int]) -> Iterator[Sequence[AuditItem]]:
    for start in range(0, len(pks), CHUNK):
        some = pks[start : start + CHUNK].tolist()
        entries = AuditEntry.objects.in_bulk(some)
        yield queries.items(project, [entries[pk] for pk in some if pk in entries])


def _row(entry: AuditEntry, names: Mapping[str, str]) -> AuditRow:
    described = describe(entry.action)
    name = names.get(entry.actor) if entry.actor_kind == "token" else None
    return AuditRow(
        pk=entry.pk,
        at=entry.at,
        kind=entry.actor_kind,
        actor=name or entry.actor,
        icon="" if entry.actor_kind == "user" else ICONS.get(entry.actor_kind, "user"),
        action=entry.action,
        words=described.words,
        is_refusal=described.is_refusal,
        target=entry.target,
        change=change(entry.before, entry.after, described.null),
        address=entry.address,
    )


def _word(day: date, today: date) -> str:
    return {today: "Today", today - timedelta(days=1): "Yesterday"}.get(day, "")


def _distinct(rows: QuerySet[AuditEntry], *fields: str) -> list[tuple[str, ...]]:
    return list(rows.values_list(*fields).order_by(*fields).distinct())


def _options(name: str, words: Mapping[str, str], chosen: Sequence[str]) -> list[Option]:
    """Return an option for each recorded value and each chosen one, by their words."""
    labels = {**{value: describe(value).words if name == "action" else value for value in chosen}, **words}
    offered = sorted(labels.items(), key=lambda pair: (pair[1].casefold(), pair[0]))
    return [Option(name, value, label, value in chosen) for value, label in offered]
