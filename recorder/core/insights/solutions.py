"""Solutions: an error of a tool, and the steps between it and the next try of the same call."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recorder.core.content.text import clean
from recorder.core.insights.findings import Finding
from recorder.core.insights.tool_steps import Call, group_steps

MOST = 200  # different solutions of one loop
STEPS = 6  # the last steps before the retry that are stored
AHEAD = 200  # calls searched for the retry
TEXT = 300  # characters of an error
_SCAN_LIMIT = 20_000  # characters searched at the start and at the end of an answer
_ANSI = re.compile("\x1b\\[[0-9;?]*[ -/]*[@-~]")
_ERROR_WORDS = re.compile(
    r"error|exception|fail|denied|refused|not found|no such|cannot|invalid|missing|timed? ?out", re.IGNORECASE
)
_CHANGING = (
    (re.compile(r"'[^']{1,200}'|\"[^\"]{1,200}\"|`[^`]{1,200}`"), "…"),
    (re.compile(r"(?:/[\w.@+-]+)+/"), "…/"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{7,64}\b"), "#"),
    (re.compile(r"\d+"), "#"),
)


def solutions(agent_id: str, calls: Sequence[Call]) -> list[Finding]:
    """Return the solutions of a loop: for each failed call that was retried, the steps in between."""
    found: dict[str, Finding] = {}
    for at, failed in enumerate(calls):
        if failed.state != "failed" or (again := _again(calls, at)) is None:
            continue
        tried = calls[again]
        between = [call for call in calls[at + 1 : again] if call.start > failed.end]
        each = Finding(
            "solution",
            agent_id,
            tuple(run.step for run in group_steps(between))[-STEPS:],
            about=failed.step,
            statement=normalize_error(failed.error),
            is_changed=tried.arguments_key != failed.arguments_key,
            events=[failed.end, tried.end],
            text=failed.error,
        )
        if each.key not in found and len(found) >= MOST:
            continue
        found.setdefault(each.key, each).count(
            worked=tried.state == "done", began_at=failed.ended_at, ended_at=tried.ended_at
        )
    return list(found.values())


def error_line(answer: str) -> str:
    """Return the most informative line of a tool's error: the last with an error word, else the first."""
    if len(answer) > 2 * _SCAN_LIMIT:
        answer = answer[:_SCAN_LIMIT] + "\n" + answer[-_SCAN_LIMIT:]
    lines = [" ".join(line.split()) for line in _ANSI.sub("", answer).splitlines()]
    with_words = [line for line in lines if any(char.isalnum() for char in line)]
    if not with_words:
        return ""
    errors = [line for line in with_words if _ERROR_WORDS.search(line)]
    return clean((errors or with_words[:1])[-1], TEXT)


def normalize_error(text: str) -> str:
    """Return an error with numbers, hashes, quoted text and folders replaced by placeholders."""
    for pattern, replacement in _CHANGING:
        text = pattern.sub(replacement, text)
    return text


def _again(calls: Sequence[Call], at: int) -> int | None:
    """Return the index of the next call that retries a failed one, None if there is none."""
    failed = calls[at]
    for later in range(at + 1, min(len(calls), at + AHEAD)):
        call = calls[later]
        if call.start > failed.end and call.retries(failed):
            return later
    return None
