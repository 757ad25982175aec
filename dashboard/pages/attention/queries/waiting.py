"""The open approvals of a project: what is asked, by whom, since when, and where it can be answered."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard.live.paged_list import Count, count
from dashboard.rendering import approvals
from dashboard.shared import attention
from dashboard.web import links
from recorder.core.formats.registry import RUNTIMES
from recorder.models import Approval, Project, ToolCall

PAGE = 20
COUNT_MAX = 1_000
LONG, LONG_LINES = 250, 5
HOST = "the program that runs it"
OWN = ("kind", "command", "risk", "warnings", "options", "requested_at", "tool_call_id", "session", "loop")
OF_SESSION = ("title", "session_id", "agent_id", "source", "working_dir")
OF_LOOP = ("agent_label", "agent_id", "turns", "role")
COLUMNS = (*OWN, *(f"session__{name}" for name in OF_SESSION), *(f"loop__{name}" for name in OF_LOOP))


@dataclass(frozen=True, slots=True)
class Ask:
    """One question that nobody has answered."""

    pk: int
    url: str
    title: str
    agent: str
    turns: int
    is_branch: bool
    tool: str
    command: str
    said: str  # in place of a command
    risk: str
    warnings: Sequence[str]
    options: Sequence[str]
    since: datetime
    runtime: str
    directory: str

    @property
    def is_long(self) -> bool:
        """Say whether the command may need to scroll."""
        return len(self.command) > LONG or self.command.count("\n") > LONG_LINES


@dataclass(frozen=True, slots=True)
class Waiting:
    """A page of the open approvals, oldest first; root of the panel attention/waiting."""

    rows: Sequence[Ask]
    total: Count
    more: int | None  # the key after which the next page begins


@dataclass(frozen=True, slots=True)
class WaitingAfter:
    """The query of the panel attention/waiting: the page after a question, or the first."""

    after: int | None

    def __call__(self, projects: Collection[int]) -> Mapping[int, Waiting]:
        """Return those that wait longest. Four queries for the one project of a page."""
        slugs = Project.objects.filter(pk__in=projects).values_list("pk", "slug")
        return {pk: _waiting(pk, slug, self.after) for pk, slug in slugs}


def _waiting(project: int, slug: str, after: int | None) -> Waiting:
    asked = attention.waiting(project)
    rows = asked.select_related("session", "loop").only(*COLUMNS).order_by("pk")
    found = list((rows if after is None else rows.filter(pk__gt=after))[: PAGE + 1])
    shown, tools = found[:PAGE], _tools(found[:PAGE])
    return Waiting(
        [_ask(slug, each, tools.get((each.loop_id or 0, each.tool_call_id), "")) for each in shown],
        count(asked, COUNT_MAX),
        shown[-1].pk if len(found) > PAGE else None,
    )


def _tools(asked: Collection[Approval]) -> Mapping[tuple[int, str], str]:
    """Return the names of the tools that wait, by loop and call."""
    calls = ToolCall.objects.filter(
        loop__in={each.loop_id for each in asked if each.loop_id},
        tool_call_id__in={each.tool_call_id for each in asked if each.tool_call_id},
    )
    named = calls.values_list("loop_id", "tool_call_id", "tool_name")
    return {(loop, call): name for loop, call, name in named}


def _ask(slug: str, asked: Approval, tool: str) -> Ask:
    session, loop = asked.session, asked.loop
    return Ask(
        pk=asked.pk,
        url=links.loop(slug, session.pk, loop.pk) if loop else links.session(slug, session.pk),
        title=session.title or session.session_id,
        agent=(loop and (loop.agent_label or loop.agent_id)) or session.agent_id,
        turns=loop.turns if loop else 0,
        is_branch=loop is not None and loop.role == "branch",
        tool=tool,
        command=asked.command[: approvals.COMMAND_MAX],
        said="" if asked.command else approvals.instead(asked.kind),
        risk=asked.risk,
        warnings=approvals.said(asked.warnings),
        options=approvals.said(asked.options),
        since=asked.requested_at,
        runtime=RUNTIMES.get(session.source, session.source) or HOST,
        directory=session.working_dir,
    )
