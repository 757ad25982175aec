"""The session brief, read from records; only error messages of tools are read from the journal."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.db.models import Count, Max, Q, QuerySet

from dashboard.shared.session_json.brief import (
    SHOWN,
    Brief,
    BriefApproval,
    BriefApprovals,
    BriefError,
    BriefSubAgent,
    BriefTask,
    BriefTool,
)
from dashboard.shared.session_state import is_stale
from dashboard.web import links
from recorder.core.content.messages import text_of
from recorder.core.content.text import excerpt
from recorder.core.formats.base import strip_sse_framing
from recorder.core.formats.native import NO_LIMITS, read_object
from recorder.core.handlers.lifecycle import CANCELLED
from recorder.journal.read import texts
from recorder.models import Approval, ChildLoopRef, LoopRecord, Project, Session, ToolCall, Turn

ERROR = 400  # characters of an error message


def brief(project: Project, session: Session) -> Brief:
    """Return the brief of a session. The number of queries does not depend on its length."""
    tools, errors = _tools(session), _Errors(session)
    refs = ChildLoopRef.objects.filter(loop__session=session)
    return Brief(
        session_id=session.session_id,
        title=session.title or None,
        agent_id=session.agent_id or None,
        source=session.source,
        status=session.status,
        outcome=session.outcome or None,
        stale=is_stale(session),
        created_at=session.created_at,
        last_active_at=session.last_event_at,
        loops=session.loops,
        turns=session.turns,
        current_task=_task(_roots(session).filter(status="running")),
        last_task=_task(_roots(session).exclude(status__in=("running", "pending"))),
        tools_used=len(tools),
        tools=tools[:SHOWN],
        errors_met=errors.total,
        errors=errors.newest(),
        approvals=_approvals(session),
        sub_agents_run=refs.count(),
        sub_agents=[_sub_agent(ref) for ref in refs.select_related("child__session").order_by("-pk")[:SHOWN]],
        url=links.session(project.slug, session.pk),
    )


def _roots(session: Session) -> QuerySet[LoopRecord]:
    """Return the loops that a user or a parent agent started, not the judges and losing branches."""
    is_root = Q(role__in=("normal", "sub_agent")) | Q(is_selected=True)
    return LoopRecord.objects.filter(is_root, session=session)


def _task(loops: QuerySet[LoopRecord]) -> BriefTask | None:
    loop = loops.order_by("-pk").first()
    if loop is None:
        return None
    return BriefTask(
        task=loop.title or None,
        loop=loop.pk,
        agent_id=loop.agent_id or None,
        status=loop.status,
        outcome=loop.outcome or None,
        started_at=loop.started_at,
        ended_at=loop.ended_at,
    )


def _tools(session: Session) -> list[BriefTool]:
    """Return the tools that ran, most called first."""
    ran = ToolCall.objects.filter(loop__session=session, start_event__isnull=False).order_by()
    counted = ran.values("tool_name").annotate(
        calls=Count("pk"),
        failed=Count("pk", filter=Q(state="failed")),
        running=Count("pk", filter=Q(state="running")),
    )
    return [
        BriefTool(name=row["tool_name"], calls=row["calls"], failed=row["failed"], running=row["running"])
        for row in counted.order_by("-calls", "tool_name")
    ]


def _approvals(session: Session) -> BriefApprovals:
    approvals = Approval.objects.filter(session=session)
    counts = approvals.aggregate(
        total=Count("pk"),
        granted=Count("pk", filter=Q(decision="granted")),
        denied=Count("pk", filter=Q(decision="denied")),
        open=Count("pk", filter=Q(resolved_at=None)),
    )
    counted = counts["granted"] + counts["denied"] + counts["open"]
    return BriefApprovals(
        granted=counts["granted"],
        denied=counts["denied"],
        other=counts["total"] - counted,
        open=counts["open"],
        newest=[_approval(row) for row in approvals.order_by("-pk")[:SHOWN]],
    )


def _approval(row: Approval) -> BriefApproval:
    return BriefApproval(
        kind=row.kind,
        request=row.command or None,
        decision=row.decision or None,
        reason=row.reason or None,
        is_inferred=row.inferred,
        requested_at=row.requested_at,
        resolved_at=row.resolved_at,
    )


def _sub_agent(ref: ChildLoopRef) -> BriefSubAgent:
    child = ref.child
    return BriefSubAgent(
        session_id=ref.child_session_id,
        tool_name=ref.tool_name or None,
        agent_id=(child.agent_id or None) if child else None,
        task=(child.title or None) if child else None,
        status=child.status if child else None,
        outcome=(child.outcome or None) if child else None,
        certainty=ref.certainty,
    )


class _Errors:
    """The errors of a session, and whether the same tool, model call or loop succeeded later in it."""

    def __init__(self, session: Session) -> None:
        self._is_running = session.status == "running"
        ran = ToolCall.objects.filter(loop__session=session, start_event__isnull=False)
        called = Turn.objects.filter(loop__session=session, state="done").exclude(error=CANCELLED)
        loops = LoopRecord.objects.filter(session=session)
        self._tools = ran.filter(state="failed")
        self._turns = called.exclude(error="")
        self._loops = loops.filter(outcome="failed", ended_at__isnull=False).exclude(
            pk__in=self._turns.values("loop")
        )
        self.total = self._tools.count() + self._turns.count() + self._loops.count()
        worked = ran.filter(state="done").order_by().values("tool_name").annotate(last=Max("pk"))
        self._tool_worked = dict(worked.values_list("tool_name", "last"))
        self._turn_worked = called.filter(error="").aggregate(last=Max("pk"))["last"] or 0
        self._loop_worked = loops.filter(outcome="completed").aggregate(last=Max("pk"))["last"] or 0

    def newest(self) -> list[BriefError]:
        """Return the newest errors, oldest of these first."""
        tools = list(self._tools.order_by("-pk")[:SHOWN])
        messages = _results([call.end_event for call in tools if call.end_event])
        errors = [(call.end_event or 0, self._of_tool(call, messages)) for call in tools]
        errors += [(turn.end_event or 0, self._of_turn(turn)) for turn in self._turns.order_by("-pk")[:SHOWN]]
        errors += [(loop.end_event or 0, self._of_loop(loop)) for loop in self._loops.order_by("-pk")[:SHOWN]]
        errors.sort(key=lambda each: each[0])
        return [error for _, error in errors[-SHOWN:]]

    def _of_tool(self, call: ToolCall, messages: Mapping[int, str]) -> BriefError:
        return BriefError(
            kind="tool",
            name=call.tool_name,
            request=call.summary or None,
            error=messages.get(call.end_event or 0),
            at=call.ended_at,
            loop=call.loop_id,
            recovered=self._has(self._tool_worked.get(call.tool_name, 0) > call.pk),
        )

    def _of_turn(self, turn: Turn) -> BriefError:
        return BriefError(
            kind="model",
            name=turn.model or None,
            request=None,
            error=excerpt(turn.error, ERROR),
            at=turn.ended_at,
            loop=turn.loop_id,
            recovered=self._has(self._turn_worked > turn.pk),
        )

    def _of_loop(self, loop: LoopRecord) -> BriefError:
        return BriefError(
            kind="loop",
            name=loop.loop_id,
            request=loop.title or None,
            error=excerpt(loop.error, ERROR) or None,
            at=loop.ended_at,
            loop=loop.pk,
            recovered=self._has(self._loop_worked > loop.pk),
        )

    def _has(self, worked: bool) -> bool | None:  # noqa: FBT001  the only argument
        return worked or (None if self._is_running else False)


def _results(events: Collection[int]) -> dict[int, str]:
    """Return the error messages of failed tools by event; pruned ones are missing."""
    results = {}
    for event, raw in texts(events).items():
        result = read_object(strip_sse_framing(raw), NO_LIMITS).get("result")
        message = text_of(result) if isinstance(result, dict) else str(result or "")
        if message:
            results[event] = excerpt(message, ERROR)
    return results
