"""Converts events between messages to notes: rejections, errors, approvals, compactions, unknown events."""

from __future__ import annotations

from dashboard.pages.session.conversation.items import DECISIONS, CompactionDivider, Item, Note, Tone
from dashboard.pages.session.events.bodies import Body, Excerpt, Object, folded, number, pretty, string
from dashboard.rendering.number_format import plural
from dashboard.rendering.shared_page import is_shared, masked_text
from dashboard.web import links
from recorder.core.formats.native import EVENT_TYPES

SILENT = {
    *(
        "AgentStart",
        "AgentEnd",
        "TurnStart",
        "TurnRequest",
        "TurnEnd",
        "MessageStart",
        "MessageUpdate",
        "MessageEnd",
    ),
    *(
        "ToolExecutionStart",
        "ToolExecutionUpdate",
        "ToolExecutionEnd",
        "ParallelLoopStart",
        "ParallelLoopEnd",
    ),
    *("UsageSnapshot", "SessionInfo", "CompactionStarted", "CallReported", "LoopWithdrawn"),
    *("LoopReopened", "UsageReported", "CostStated"),
}


def note(slug: str, body: Body) -> Item | None:
    """Return the note of an event, None for events that are shown elsewhere."""
    if body.type in SILENT and body.type in EVENT_TYPES:
        return None
    if body.type == "SubAgentLinked" and _is_within_its_session(body.event):
        return None  # the tree and the call show the loop
    if body.type == "CompactionEnded":
        return compaction_divider(slug, body)
    made = _NOTES.get(body.type, _unknown)(body.event)
    return Note(
        made.text,
        made.tone,
        made.icon,
        made.glyph,
        made.body,
        _json(slug, body) if body.type not in _NOTES or made.json is not None else None,
        body.at,
        body.id,
    )


def compaction_divider(slug: str, body: Body) -> CompactionDivider:
    """Return the divider of a compaction that ended."""
    summary = string(body.event.get("summary"))
    return CompactionDivider(
        "done",
        _count(body.event, "estimated_tokens_before"),
        _count(body.event, "estimated_tokens_after"),
        _count(body.event, "messages_before"),
        _count(body.event, "messages_after"),
        folded(slug, body.id, "summary", summary) if summary else None,
        links.compaction_of(slug, body.id),
    )


def _json(slug: str, body: Body) -> Excerpt:
    return folded(slug, body.id, "", pretty(dict(body.event)))


def _count(event: Object, name: str) -> int | None:
    value = event.get(name)
    return value if type(value) is int else None


def _input_rejected(event: Object) -> Note:
    return Note("Input rejected", "rejected", glyph="rejected", body=_text(event, "reason"))


def _error_raised(event: Object) -> Note:
    code = string(event.get("code"))
    where = string(event.get("scope"))
    words = " · ".join(filter(None, (f"Error in the {where}" if where else "Error", code)))
    recovered = ", recovered" if event.get("recovered") is True else ""
    return Note(words + recovered, "error", glyph="error", body=_text(event, "message"))


def _notice(event: Object) -> Note:
    severity = string(event.get("severity"))
    tone: Tone = "error" if severity == "error" else "waiting" if severity == "warning" else ""
    words = " · ".join(filter(None, (string(event.get("kind")) or "Notice", string(event.get("code")))))
    has_data = event.get("data") is not None
    return Note(words, tone, "info", body=_text(event, "text"), json=Excerpt("", 0) if has_data else None)


def _agent_switched(event: Object) -> Note:
    before, now = string(event.get("from") or event.get("from_")), string(event.get("to"))
    return Note(f"Handoff from {before} to {now}" if before else f"Handoff to {now}", icon="users")


def _approval_requested(event: Object) -> Note:
    risk = string(event.get("risk"))
    words = " · ".join(filter(None, ("Approval requested", risk and f"risk {risk}")))
    return Note(words, "waiting", glyph="waiting", body=_text(event, "command"))


def _approval_resolved(event: Object) -> Note:
    words, tone, glyph = DECISIONS.get(string(event.get("decision")), DECISIONS[""])
    scope = string(event.get("scope"))
    text = " · ".join(filter(None, (words, scope, "inferred" if event.get("inferred") is True else "")))
    return Note(text, tone, glyph=glyph, body=_text(event, "reason"))


def _prun_applied(event: Object) -> Note:
    messages, tokens = number(event.get("messages_removed")), number(event.get("tokens_removed"))
    words = f"Pruned {plural(messages, 'message')} and {plural(tokens, 'token')} from its context"
    return Note(words, "compaction", "fold-vertical", body=_text(event, "memo"))


def _revert_applied(event: Object) -> Note:
    category = string(event.get("category"))
    if event.get("applied") is not True:
        return Note(
            f"Revert requested ({category}), rejected",
            "rejected",
            glyph="rejected",
            body=_text(event, "reason"),
        )
    return Note(f"Reverted ({category})", "compaction", "rotate-ccw", body=_text(event, "summary"))


def _progress(event: Object) -> Note:
    return Note(string(event.get("tool_name")) or "Progress", body=_text(event, "text"))


def _is_within_its_session(event: Object) -> bool:
    return event.get("child_session_id") == event.get("parent_session_id") and bool(
        event.get("child_loop_id")
    )


def _sub_agent_linked(event: Object) -> Note:
    if is_shared():
        return Note("Linked to the sub-agent in another session", icon="bot")
    return Note(f"Linked to the sub-agent in {string(event.get('child_session_id'))}", icon="bot")


def _unknown(event: Object) -> Note:
    return Note(f"Unknown event type: {string(event.get('type')) or 'none'}", icon="braces")


def _text(event: Object, name: str) -> Excerpt | None:
    text = masked_text(string(event.get(name)))
    return Excerpt(text[:4_000], len(text)) if text else None


_NOTES = {
    "InputRejected": _input_rejected,
    "ErrorRaised": _error_raised,
    "Notice": _notice,
    "AgentSwitched": _agent_switched,
    "ApprovalRequested": _approval_requested,
    "ApprovalResolved": _approval_resolved,
    "PrunApplied": _prun_applied,
    "RevertApplied": _revert_applied,
    "ProgressMessage": _progress,
    "SubAgentLinked": _sub_agent_linked,
}
