"""Open approvals of a project: question, agent, time, and the runtime in which it can be answered."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from dashboard.live.paged_list import Count, count
from dashboard.pages.attention.params import AttentionParams
from dashboard.pages.attention.queries.filters import selected
from dashboard.rendering import approvals
from dashboard.shared.queries import attention
from dashboard.shared.session_state import stale
from dashboard.web import links
from recorder.core.sources import RUNTIMES
from recorder.models import Approval, Project, Session, ToolCall

PAGE = 20
COUNT_MAX = 1_000
LONG, LONG_LINES = 250, 5
HOST = "the program that runs the agent"
OWN = ("kind", "command", "risk", "warnings", "options", "requested_at", "tool_call_id", "session", "loop")
OF_SESSION = ("title", "session_id", "agent_id", "source", "working_dir")
OF_LOOP = ("agent_label", "agent_id", "turns", "role")
COLUMNS = (*OWN, *(f"session__{name}" for name in OF_SESSION), *(f"loop__{name}" for name in OF_LOOP))


@dataclass(frozen=True, slots=True)
class Question:
    """One open approval."""

    pk: int
    url: str
    title: str
    agent: str
    turns: int
    is_branch: bool
    tool: str
    command: str
    fallback_text: str  # shown when there is no command
    risk: str
    warnings: Sequence[str]
    options: Sequence[str]
    since: datetime
    runtime: str
    directory: str

    @property
    def is_long(self) -> bool:
        """Whether the command may be too long to show without scrolling."""
        return len(self.command) > LONG or self.command.count("\n") > LONG_LINES


@dataclass(frozen=True, slots=True)
class Waiting:
    """A page of the open approvals of live sessions, oldest first; root of the panel attention/waiting."""

    rows: Sequence[Question]
    total: Count
    more: AttentionParams | None  # the next page, None on the last one
    first_url: str
    stale: Count  # sessions without recent events, whose approvals are not listed
    stale_url: str

    @property
    def more_url(self) -> str:
        return self.more.query if self.more else ""


@dataclass(frozen=True, slots=True)
class WaitingOf:
    """Query of the panel attention/waiting: the page that the parameters select."""

    params: AttentionParams

    def __call__(self, projects: Collection[int]) -> Mapping[int, Waiting]:
        """Return the page of each project. Five queries for one project."""
        slugs = Project.objects.filter(pk__in=projects).values_list("pk", "slug")
        return {pk: _waiting(pk, slug, self.params) for pk, slug in slugs}


def _waiting(project: int, slug: str, params: AttentionParams) -> Waiting:
    now, after = timezone.now(), params.waiting
    unresolved, silent = attention.waiting(project, now), Session.objects.filter(stale(now), project=project)
    if params.has_sessions:
        wanted = selected(project, params)
        unresolved, silent = unresolved.filter(session__in=wanted), silent.filter(pk__in=wanted)
    rows = unresolved.select_related("session", "loop").only(*COLUMNS).order_by("pk")
    found = list((rows if after is None else rows.filter(pk__gt=after))[: PAGE + 1])
    shown, tools = found[:PAGE], _tools(found[:PAGE])
    return Waiting(
        [_question(slug, each, tools.get((each.loop_id or 0, each.tool_call_id), "")) for each in shown],
        count(unresolved, COUNT_MAX),
        params.but(waiting=shown[-1].pk) if len(found) > PAGE else None,
        params.but().query,
        count(silent, COUNT_MAX),
        links.sessions(slug, view="stale", q=params.q),
    )


def _tools(rows: Collection[Approval]) -> Mapping[tuple[int, str], str]:
    """Return the names of the waiting tools, by loop and tool call id."""
    calls = ToolCall.objects.filter(
        loop__in={each.loop_id for each in rows if each.loop_id},
        tool_call_id__in={each.tool_call_id for each in rows if each.tool_call_id},
    )
    named = calls.values_list("loop_id", "tool_call_id", "tool_name")
    return {(loop, call): name for loop, call, name in named}


def _question(slug: str, approval: Approval, tool: str) -> Question:
    session, loop = approval.session, approval.loop
    return Question(
        pk=approval.pk,
        url=links.loop(slug, session.pk, loop.pk) if loop else links.session(slug, session.pk),
        title=session.title or session.session_id,
        agent=(loop and (loop.agent_label or loop.agent_id)) or session.agent_id,
        turns=loop.turns if loop else 0,
        is_branch=loop is not None and loop.role == "branch",
        tool=tool,
        command=approval.command[: approvals.COMMAND_MAX],
        fallback_text="" if approval.command else approvals.fallback_text(approval.kind),
        risk=approval.risk,
        warnings=approvals.as_lines(approval.warnings),
        options=approvals.as_lines(approval.options),
        since=approval.requested_at,
        runtime=RUNTIMES.get(session.source, session.source) or HOST,
        directory=session.working_dir,
    )
