"""Everything that the attention page lists, for a download: questions, waste, failures, finished sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from dashboard.pages.attention.params import AttentionParams
from dashboard.pages.attention.queries.ended_sessions import Ended, Failures, FailuresOf, FinishedOf
from dashboard.pages.attention.queries.waiting import Question, Waiting, WaitingOf
from dashboard.pages.attention.queries.wastes import Alarm, Alarms, AlarmsOf
from dashboard.web.lists.download import Value, dollars
from recorder.models import Project

HEADER = (
    *("list", "title", "agent_id", "state", "text", "risk", "at", "is_read", "url"),
    *("rule", "name", "times", "tokens", "cost_usd"),
)
NO_WASTE: Sequence[Value] = (None,) * 5
Page = TypeVar("Page", Waiting, Failures, Alarms)


def chunks(project: Project, user: int, params: AttentionParams) -> Iterator[Sequence[Sequence[Value]]]:
    """Yield the lists of the page one after the other, a page of each at a time."""
    start = params.but()
    if params.shows("waiting"):
        for waiting in _pages(lambda at: WaitingOf(at)([project.pk])[project.pk], start):
            yield [_question(each) for each in waiting.rows]
    if params.shows("waste"):
        for alarms in _pages(lambda at: AlarmsOf(project.pk, at)([user])[user], start):
            yield [_alarm(each) for each in alarms.rows]
    if params.shows("failed"):
        for failed in _pages(lambda at: FailuresOf(project.pk, at)([user])[user], start):
            yield [_ended_values("failed", each) for each in failed.rows]
    if params.shows("finished"):
        yield [_ended_values("finished", each) for each in FinishedOf(start)([project.pk])[project.pk].rows]


def _pages(read: Callable[[AttentionParams], Page], start: AttentionParams) -> Iterator[Page]:
    page = read(start)
    yield page
    while page.more:
        page = read(page.more)
        yield page


def _question(each: Question) -> Sequence[Value]:
    text = each.command or each.fallback_text
    head = ("waiting", each.title, each.agent, "waiting", text, each.risk, each.since, None, each.url)
    return (*head, *NO_WASTE)


def _alarm(each: Alarm) -> Sequence[Value]:
    waste, spent = each.waste, each.waste.wasted
    head = ("waste", each.title, each.agent, None, waste.title, None, each.at, each.has_seen, each.url)
    return (*head, waste.rule, waste.name, waste.times, spent.tokens, dollars(spent.nano))


def _ended_values(name: str, each: Ended) -> Sequence[Value]:
    is_read = each.has_seen if name == "failed" else None
    return (name, each.title, each.agent, each.state, each.words, None, each.at, is_read, each.url, *NO_WASTE)
