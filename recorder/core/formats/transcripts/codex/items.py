"""Items of Codex's rollouts: blocks of an answer, results of calls, and the head of a fork."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from recorder.core.content.messages import ENCRYPTED_SUMMARY
from recorder.core.formats.base import (
    Fields,
    object_field,
    parse_arguments,
    parse_time,
    text_field,
)
from recorder.core.formats.transcripts.fields import call_block, fingerprint, plain, text_of, thinking
from recorder.core.records import Json

USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cached_input_tokens",
    "cache_write": "cache_write_input_tokens",
    "reasoning": "reasoning_output_tokens",
}
_TOTALS = ("input_tokens", "output_tokens", "total_tokens")  # of a sum of usage
QUESTION = "request_user_input"  # a tool that a person answers
HOSTED = ("web_search_call", "image_generation_call")  # calls that the provider runs, without a result
# Types of older rollouts, whose lines are the items themselves.
ITEMS = frozenset(
    (
        *("message", "reasoning", "function_call", "function_call_output", "custom_tool_call"),
        *("custom_tool_call_output", "local_shell_call", *HOSTED),
    )
)
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (\d+)$", re.MULTILINE)
_OUTPUT = "\nOutput:\n"  # ends the lines that Codex writes about a command
_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)
_USER = re.compile(r"(?<=://)[^/@\s]*@")
_BURST = timedelta(milliseconds=500)  # within which a copied history is written


def agent_id(text: str) -> Json:
    """Return the id of the sub-agent that the result of a spawn names."""
    found = parse_arguments(text)
    return found.get("agent_id") if isinstance(found, dict) else None


def blocks_of(name: str, payload: Fields) -> list[Fields]:
    if name == "message" and payload.get("role") == "assistant":
        return plain(text_of(payload.get("content")))
    if name == "reasoning":
        return thinking(text_of(payload.get("summary")) or text_of(payload.get("content")))
    if name in ("function_call", "custom_tool_call"):
        arguments = payload.get("arguments", payload.get("input"))
        return [call_block(payload.get("call_id"), payload.get("name"), parse_arguments(arguments))]
    if name == "local_shell_call":
        return [call_block(payload.get("call_id"), "local_shell", payload.get("action"))]
    if name in HOSTED:
        arguments = payload.get("action") or {"prompt": payload.get("revised_prompt")}
        return [call_block(hosted_call(payload), name.removesuffix("_call"), arguments)]
    return []


def hosted_call(payload: Fields) -> str:
    """Return the id of a call that the provider ran; releases without one go by the action."""
    made = text_field(payload, "id")
    return made or fingerprint(payload)


def is_own_task(turn_id: str, at: datetime | None, head: Fields) -> bool:
    """Return whether a task is one of a fork itself, and no copy of its origin's.

    `head` has the time at which the fork began, `began`, and that of the first copied line, `copied`. A turn
    id of version 7 has the time of the task; else the copies are those that are written in one burst.
    """
    began, copied = parse_time(head.get("began")), parse_time(head.get("copied"))
    if (match := _UUID7.fullmatch(turn_id)) and began is not None:
        return int(match[1] + match[2], 16) >= began.timestamp() * 1000 - 1
    return at is not None and copied is not None and at - copied > _BURST


def usage_of(payload: Fields) -> Fields:
    """Return the usage of one call, of either form of a report."""
    return object_field(payload, "usage") or object_field(object_field(payload, "info"), "last_token_usage")


def total_of(payload: Fields) -> list[Json]:
    """Return the sum of the usage of all calls of the thread, of either form of a report."""
    of_count = object_field(object_field(payload, "info"), "total_token_usage")
    total = object_field(payload, "thread_token_usage") or of_count
    return [total.get(name) for name in _TOTALS]


def is_sum(total: list[Json], before: list[Json], last: Fields) -> bool:
    """Return whether a sum of usage is the one before it and one call's; the first sum has none before it."""
    before = before or [0, 0, 0]
    pairs = zip(_TOTALS, total, before, strict=True)
    return total != before and all(
        isinstance(now, int) and isinstance(then, int) and now - then == last.get(name)
        for name, now, then in pairs
    )


def place_in_git(git: Fields) -> Fields:
    """Return branch and repository where they are recorded, without the name and password of an address."""
    found = {"branch": text_field(git, "branch"), "repository": text_field(git, "repository_url")}
    return {name: _USER.sub("", text) for name, text in found.items() if text}


def compaction_summary(payload: Fields) -> str:
    """Return the summary of a compaction; of one that the provider encrypted, only its size is known."""
    history = payload.get("replacement_history")
    sizes = [
        len(text_field(item, "encrypted_content"))
        for item in (history if isinstance(history, list) else ())
        if isinstance(item, dict) and "compaction" in text_field(item, "type")
    ]
    encrypted = f"{ENCRYPTED_SUMMARY}, {sum(sizes):,} characters]" if sum(sizes) else ""
    return text_field(payload, "message") or encrypted


def result_of(output: Json) -> tuple[str, bool]:
    """Return the text of a result and whether it failed: by its exit code, or as the tool says."""
    parsed = parse_arguments(output)  # older releases wrote JSON as text
    if not isinstance(parsed, dict) or not ("output" in parsed or "content" in parsed):
        text = text_of(output)
        match = _EXIT_CODE.search(text.partition(_OUTPUT)[0])
        return text, match is not None and match[1].strip("0") != ""
    text = text_of(parsed.get("output")) or text_of(parsed.get("content"))
    exit_code = object_field(parsed, "metadata").get("exit_code")
    return text, exit_code not in (None, 0) or parsed.get("success") is False
