"""Parts of transcripts that several readers read: contents, results, failures."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TypeVar, cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, format_time, parse_time
from recorder.core.records import Json

CONTEXTS = (
    *("<environment_context>", "<session_context>", "<user_instructions>", "<turn_aborted>"),
    *("<hook_context>", "<skill>", "<subagent_notification>", "<goal_context>", "<recommended_plugins>"),
    *("<codex_internal_context", "# AGENTS.md"),
)
_MEDIA_TYPES = ("type", "mimeType", "mime", "media_type")  # fields of a part of a message
UNDONE: Json = {"Branch": {"tag": "undone"}}  # kind of a loop that takes the place of undone messages


T = TypeVar("T")
SEEN_MAX = 100  # hashes of the last blocks of an answer, by which one that is written again is recognised
COST_MAX = 1e9  # dollars of one call
TEXT_MAX = 64 * 1024  # characters of an answer that the end of its turn repeats
# What an answer ends with after which the agent goes on; any other reason ends the loop.
_CONTINUES = frozenset(
    (
        *("", "tool_use", "toolUse", "tool_calls", "tool-calls", "function_call", "pause_turn", "unknown"),
        *("pending", "deferred"),  # pi: the provider answers later
    )
)
_OUTCOMES = {
    **dict.fromkeys(("max_tokens", "length", "MAX_TOKENS", "model_context_window_exceeded"), "limit"),
    **dict.fromkeys(("refusal", "content_filter", "content-filter", "SAFETY"), "rejected"),
    **dict.fromkeys(("aborted", "cancelled"), "cancelled"),
    "error": "failed",
}


def stop_outcome(stop: str) -> str:
    """Return the outcome of a loop whose last answer stopped for this reason; "" if the loop goes on."""
    return "" if stop in _CONTINUES else _OUTCOMES.get(stop, "completed")


def objects(value: Json) -> list[Fields]:
    """Return the objects of a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_of(value: Json) -> str:
    """Return a content, a text or a list of parts, as text."""
    if isinstance(value, str):
        return value
    texts = (part.get("text") for part in objects(value))
    return "\n".join(text for text in texts if isinstance(text, str))


def prompt_text(content: Json) -> str:
    """Return a prompt as text; one without words names what is attached."""
    text = text_of(content)
    return text if text.strip() else "\n".join(filter(None, map(_attachment, objects(content))))


def _attachment(part: Fields) -> str:
    holders = (part, *(part[name] for name in ("inlineData", "fileData", "source") if name in part))
    types = [each.get(name) for each in holders if isinstance(each, dict) for name in _MEDIA_TYPES]
    named = " ".join(each for each in types if isinstance(each, str))
    if "image" in named.lower():
        return "[image]"
    return "[file]" if part.get("type") in ("file", "document") or len(holders) > 1 else ""


def answer_text(before: str, blocks: list[Fields]) -> str:
    """Return the text of an answer with the text of further blocks, cut at `TEXT_MAX` characters."""
    if len(before) >= TEXT_MAX:
        return before
    texts = [str(block["text"]) for block in blocks if block.get("type") == "text"]
    return "\n".join(filter(None, (before, *texts)))[:TEXT_MAX]


def time_text(value: Json, at: datetime) -> str:
    """Return a line's own time, else the time of its arrival."""
    return format_time(parse_time(value) or at)


def time_ms(value: Json, at: datetime) -> str:
    """Return a time in milliseconds since 1970, else the time of arrival."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 253_402_300_799_000:
        return format_time(datetime.fromtimestamp(value / 1000, UTC))
    return format_time(at)


def is_context(text: str) -> bool:
    """Return whether an agent wrote a message of the user role, to describe its environment."""
    return text.lstrip().startswith(CONTEXTS)


def loop_id(session: str, name: Json) -> str:
    """Return the id of a loop in a session."""
    made = f"{session}.{name}"
    return made if is_id(made) else f"{session}.loop"


def before(name: str) -> str | None:
    """Return the `loop_id` of lines before the first loop of a stream, by which that loop adopts them."""
    key = f"before-{name}"
    return key if name and is_id(key) else None


def call_block(call: Json, name: Json, arguments: Json) -> Fields:
    """Return a tool call as a block of an answer."""
    return {"type": "toolCall", "id": str(call or ""), "name": str(name or ""), "arguments": arguments}


def thinking(text: Json) -> list[Fields]:
    return [{"type": "thinking", "thinking": text}] if isinstance(text, str) and text else []


def plain(text: Json) -> list[Fields]:
    return [{"type": "text", "text": text}] if isinstance(text, str) and text else []


def fingerprint(value: Json) -> str:
    """Return a short hash of a value, by which it is recognised."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=9).hexdigest()


def linked(
    session: str, loop: str, call: str, name: str, child_loop_id: str, child_session_id: str = ""
) -> Fields:
    """Link a loop to the call of another one that started it, of the same session unless it is named."""
    return {
        "type": "SubAgentLinked",
        "parent_session_id": session,
        "parent_loop_id": loop,
        "tool_call_id": call,
        "tool_name": name,
        "child_session_id": child_session_id or session,
        "child_loop_id": child_loop_id,
    }


def first_valid_id(*values: Json) -> str:
    """Return the first value that is an id; "" without one."""
    return next((value for value in values if is_id(value)), "")


def dollars(value: Json) -> float:
    """Return a reported cost in dollars; -1 where the value is none."""
    is_cost = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < COST_MAX
    return float(cast("float", value)) if is_cost else -1.0


def unseen(blocks: list[Fields], seen: dict[str, int]) -> list[Fields]:
    """Return the blocks that an answer does not have, and note them; older releases write some again."""
    found: list[Fields] = []
    for block in blocks:
        is_call = block.get("type") == "toolCall" and bool(block["id"])
        name = fingerprint(block["id"] if is_call else block)
        if name not in seen:
            seen[name] = 1
            found.append(block)
    forget_first(seen, SEEN_MAX)
    return found


def forget_first(table: dict[str, T], size: int) -> None:
    """Remove the entries that were added first until at most `size` are left."""
    while len(table) > size:
        del table[next(iter(table))]
