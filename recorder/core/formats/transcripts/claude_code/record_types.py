"""The types of Claude Code's lines. Those that are no messages change no record unless the reader says so."""

from __future__ import annotations

from collections.abc import Mapping

from recorder.core.formats.base import Fields, object_field, text_field

MESSAGES = frozenset(("user", "assistant", "system", "attachment"))
# From the program's own table of record types, release 2.1.332, and those of earlier releases.
BOOKKEEPING = frozenset(
    (
        *(
            "agent-color",
            "agent-meta",
            "agent-name",
            "agent-setting",
            "ai-title",
            "api-request",
            "api-request-blob",
        ),
        *("api-request-resumed", "api-request-shape", "artifact-autoreact-ledger"),
        *("artifact-comment-monitor", "atis-latch", "attribution-snapshot", "bridge-session"),
        *("content-replacement", "continued-in", "cost-state", "custom-title", "data-flow-incomplete"),
        *("data-flow-records", "derived-from", "dev-mods", "ended-by-model", "file-history-delta"),
        *("file-history-snapshot", "fork-context-ref", "frame-link", "history-suppression", "host-row"),
        *("hybrid-organization", "isolation-latch", "last-prompt", "memory-mode", "mode", "observer-ref"),
        *("permission-mode", "pr-link", "progress", "queue-operation", "relocated", "repl-mode"),
        *("resume-head-vouch", "session-owner", "summary", "tag", "tools-used", "worktree-state"),
    )
)
TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}  # the field that holds it, by type
TYPES = MESSAGES | BOOKKEEPING
# Subtypes of `system` that the agent writes when a turn is over.
ENDS = frozenset(("turn_duration", "stop_hook_summary"))


def detects(line: Mapping[str, object]) -> bool:
    """Return whether a line is of Claude Code's transcript."""
    has_session = any(isinstance(line.get(name), str) for name in ("sessionId", "parentSessionId"))
    return (has_session or "leafUuid" in line) and line.get("type") in TYPES and "projectHash" not in line


def marks_end(line: Fields) -> bool:
    """Return whether the agent writes this line when it waits for a prompt, or exits."""
    kind = line.get("type")
    return kind in ("last-prompt", "cost-state") or (kind == "system" and line.get("subtype") in ENDS)


def answer_key(line: Fields) -> str:
    """Return what the lines of one answer have in common; "" for a line that is no answer."""
    is_answer = text_field(line, "type") == "assistant"
    return (text_field(object_field(line, "message"), "id") or text_field(line, "uuid")) if is_answer else ""
