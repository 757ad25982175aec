"""Results of a query: sessions, each with its first hits. Seven queries beside those of the index."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Min, QuerySet

from dashboard.pages.search_text.highlights import Part, parts
from dashboard.pages.search_text.kinds import KINDS, Kind
from dashboard.pages.search_text.params import SearchParams
from dashboard.query_conditions.box import Parsed
from dashboard.query_language.words import positive_words
from dashboard.shared.compiled_query import compiled
from dashboard.shared.queries.config_labels import Chip, chips
from dashboard.shared.search.queries import hits as recorded_hits
from dashboard.shared.search.queries.find import FoundSessions, SessionHits, find
from dashboard.shared.session_state import state_of_session
from dashboard.web import links
from recorder.models import LoopRecord, Project, Session, ToolCall, Turn
from recorder.search import state
from recorder.search.documents import NUMBERS
from recorder.search.state import Lag

SESSIONS = 20  # a page
CONFIGS = 2  # shown of a session


@dataclass(frozen=True, slots=True)
class Hit:
    """A text that matches. `parts` is empty if the text was pruned after it was found."""

    kind: Kind
    parts: Sequence[Part]
    url: str
    turn: int | None  # its number, from 1


@dataclass(frozen=True, slots=True)
class Group:
    """A session with its first hits."""

    session: Session
    url: str
    state: str
    configs: Sequence[Chip]
    more_configs: Sequence[Chip]
    failed_tools: int
    hits: Sequence[Hit]
    more: int  # hits that are not shown
    more_url: str

    @property
    def title(self) -> str:
        return self.session.title or self.session.session_id


@dataclass(frozen=True, slots=True)
class Results:
    """One page of results; `next` and `first` are query strings of links, "" where there is none."""

    groups: Sequence[Group]
    next: str
    first: str

    total: int | None  # sessions that match, None if counting them takes too long

    @property
    def is_all(self) -> bool:
        """Return whether the page has every session that matches."""
        return not self.next and not self.first

    @property
    def is_counted(self) -> bool:
        return self.is_all or self.total is not None

    @property
    def hits(self) -> int:
        """Return the number of hits of the sessions on the page, with those that are not shown."""
        return sum(len(group.hits) + group.more for group in self.groups)


def lag(project: int, now: datetime) -> Lag:
    """Return how far the index is behind. Two queries."""
    return state.lag(project, now)


def results(project: Project, params: SearchParams, now: datetime, user: int) -> Results:
    """Return a page of results; the query of `params` must be valid and not empty."""
    page = page_of(project.pk, params, now, user)
    return Results(
        _groups(project, params, page.items),
        next=params.but(cursor=int(page.next)).query if page.next else "",
        first=params.but().query if params.cursor else "",
        total=page.total,
    )


def page_of(project: int, params: SearchParams, now: datetime, user: int) -> FoundSessions:
    """Return the sessions of a page and their hits."""
    return find(
        project,
        params.parsed.node,
        lambda part: Parsed(part).on_indexed(project, now, user),
        kinds=[NUMBERS[kind] for kind in params.kind],
        sort=params.sort,
        cursor=params.cursor,
        limit=SESSIONS,
    )


def _groups(project: Project, params: SearchParams, items: Sequence[SessionHits]) -> Sequence[Group]:
    node = params.parsed.node
    pks = [item.session for item in items]
    sessions = {row.pk: row for row in _sessions(project.pk, pks)}
    configs, failed = _configs(pks), dict(_failed_tools(pks))
    shown = recorded_hits.hits(project.pk, node, (hit for item in items for hit in item.hits))
    turns = dict(_ordinals([hit.turn for hit in shown.values() if hit.turn is not None]))
    words = " ".join(word.text for word in positive_words(node))
    return [
        Group(
            session=sessions[item.session],
            url=links.session(project.slug, item.session),
            state=state_of_session(sessions[item.session]),
            configs=configs.get(item.session, ())[:CONFIGS],
            more_configs=configs.get(item.session, ())[CONFIGS:],
            failed_tools=failed.get(item.session, 0),
            hits=[_hit(project.slug, item.session, shown[hit.pk], turns) for hit in item.hits],
            more=item.more,
            more_url=links.session_search(project.slug, item.session, words),
        )
        for item in items
        if item.session in sessions  # the session may have been deleted since
    ]


def _hit(slug: str, session: int, hit: recorded_hits.Hit, turns: Mapping[int, int]) -> Hit:
    ordinal = turns.get(hit.turn) if hit.turn is not None else None
    turn = None if ordinal is None else ordinal + 1
    if hit.loop is None:
        url = links.event(slug, hit.event) if hit.event else links.session(slug, session)
    elif turn is None:
        url = links.loop(slug, session, hit.loop)
    else:
        url = f"{links.loop(slug, session, hit.loop, turn=turn)}#turn-{turn}"
    return Hit(KINDS[hit.kind], parts(hit.snippet, hit.ranges), url, turn)


def _configs(sessions: Collection[int]) -> Mapping[int, Sequence[Chip]]:
    """Return the configs of each session in order of first use. Two queries."""
    used: dict[int, list[int]] = {}
    for session, config, _ in _used_configs(sessions):
        used.setdefault(session, []).append(config)
    named = chips({config for found in used.values() for config in found})
    return {pk: [named[config] for config in found if config in named] for pk, found in used.items()}


@compiled
def _sessions(project: int, pks: Collection[int]) -> QuerySet[Session]:
    rows = Session.objects.filter(project=project, pk__in_list=pks)
    return rows.defer("formation", "summary", "working_dir", "tags", "metadata")


@compiled
def _used_configs(sessions: Collection[int]) -> QuerySet[LoopRecord, tuple[int, int, int]]:
    loops = LoopRecord.objects.filter(session__in_list=sessions, config__isnull=False)
    first = loops.values("session_id", "config_id").annotate(first=Min("pk"))
    return first.order_by("first").values_list("session_id", "config_id", "first")


@compiled
def _failed_tools(sessions: Collection[int]) -> QuerySet[ToolCall, tuple[Any, ...]]:
    failed = ToolCall.objects.filter(loop__session__in_list=sessions, state="failed")
    counted = failed.values(of=F("loop__session")).annotate(n=Count("pk"))
    return counted.values_list("of", "n")


@compiled
def _ordinals(turns: Collection[int]) -> QuerySet[Turn, tuple[int, int]]:
    return Turn.objects.filter(pk__in_list=turns).values_list("pk", "ordinal")
