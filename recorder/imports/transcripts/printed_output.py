"""Recognises what a coding agent prints as JSON. Its transcript is more complete.

Forms of Claude Code 2.1.197 and Gemini CLI 0.61.0 (`--output-format stream-json`), Codex 0.169.0
(`exec --json`) and OpenCode 1.18.33 (`run --format json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class _Form(NamedTuple):
    agent: str
    type: str  # of the first line
    session: str  # the field with the id of the session
    has: str  # another field of the first line
    place: str  # where the transcript is; {} is the id


_FORMS = (
    _Form("Claude Code", "system", "session_id", "subtype", "~/.claude/projects/*/{}.jsonl"),
    _Form("Codex", "thread.started", "thread_id", "thread_id", "~/.codex/sessions/*/*/*/rollout-*-{}.jsonl"),
    _Form("Gemini CLI", "init", "session_id", "model", "~/.gemini/tmp/*/chats"),
    _Form("OpenCode", "step_start", "sessionID", "part", "~/.local/share/opencode/opencode.db"),
)


def advice(first: Mapping[str, object]) -> str | None:
    """Return what to import instead of a file that begins with this event, None if nothing printed it."""
    for form in _FORMS:
        session = first.get(form.session)
        if first.get("type") == form.type and form.has in first and isinstance(session, str):
            place = form.place.format(session[:80])
            return f"it is what {form.agent} prints; its transcript is more complete, import that: {place}"
    return None
