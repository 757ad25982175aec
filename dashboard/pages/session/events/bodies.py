"""Prepares recorded lines for display: decoding, access by path, previews of long texts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from html import escape
from typing import cast

from dashboard.rendering.shared_page import masked_text
from dashboard.web import links
from recorder.core.content.text import TOO_DEEP, clean, json_text
from recorder.core.formats.base import strip_sse_framing
from recorder.core.records import Json

PREVIEW = 16_000  # characters of one text shown without a request
HEAD_LINES, HEAD = 12, 2_000  # lines and characters of a tool result sent with the page
HEAD_BYTES = 3_000  # of HTML, at most

Object = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Body:
    """One recorded line, decoded."""

    id: int
    type: str
    event: Object
    at: datetime
    is_received: bool = False  # the event has no timestamp; `at` is the receive time
    late: bool = False
    pruned_on: date | None = None  # when set, `event` is empty


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text, and the URL of the whole text if it was shortened."""

    text: str
    size: int  # bytes of the whole text
    url: str = ""  # of the whole text; "" when the text is complete
    key: str = ""  # DOM id of its element
    lines: int = 1  # of the whole text

    @property
    def more_lines(self) -> int:
        return max(0, self.lines - self.text.count("\n") - 1) if self.url else 0


def decode(raw: bytes | memoryview) -> Object:
    """Return the JSON object of a line, with or without SSE framing; empty if it holds none."""
    text = strip_sse_framing(bytes(raw)).decode(errors="replace")
    try:
        value = json.loads(text)
    except ValueError:
        value = _of_many_digits(text)
    except RecursionError:
        return {"unreadable": TOO_DEEP}
    return value if isinstance(value, dict) else {}


def _of_many_digits(text: str) -> Json:
    """Parse JSON that contains an integer beyond Python's digit limit; None if it is no JSON."""
    try:
        value: Json = json.loads(text, parse_int=str)
    except ValueError:
        return None
    return value


def pretty(value: Json) -> str:
    """Return a JSON value as indented text."""
    return clean(json_text(value, indent=2))


def obj(value: Json) -> Object:
    """Return `value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Json) -> Sequence[Json]:
    """Return `value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def string(value: Json) -> str:
    """Return `value` if it is text, with control characters removed, else ""."""
    return clean(value) if isinstance(value, str) else ""


def number(value: Json) -> int:
    """Return `value` if it is a whole number, else 0."""
    return value if type(value) is int else 0


def text_of(value: Json) -> str:
    """Return a value as text: strings unchanged, content lists as their texts, anything else as JSON."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list) and any(obj(part).get("type") == "text" for part in value):
        return "\n".join(string(obj(part).get("text")) for part in value if obj(part).get("type") == "text")
    if isinstance(value, list) and all(obj(part).get("type") == "image" for part in value):
        return ""
    return pretty(value)


def at_path(event: Object, path: str) -> Json:
    """Return the value at a dotted path. Raises LookupError."""
    value: Json = cast("Json", event)
    for name in path.split("."):
        if isinstance(value, list) and name.isascii() and name.isdecimal() and len(name) < 7:
            value = value[int(name)]
        elif isinstance(value, dict):
            value = value[name]
        else:
            raise LookupError(path)
    return value


def excerpt(slug: str, event: int, path: str, text: str) -> Excerpt:
    """Return `text`, the value at `path` of an event, shortened to a preview."""
    text = masked_text(text)
    return _cut_excerpt(slug, event, path, text, text[:PREVIEW])


def folded(slug: str, event: int, path: str, text: str) -> Excerpt:
    """Return the first lines of `text`, the value at `path` of an event; the rest is loaded on demand."""
    text = masked_text(text)
    head = "\n".join(text.split("\n", HEAD_LINES)[:HEAD_LINES])[:HEAD]
    size = len(escape(head).encode(errors="replace"))
    return _cut_excerpt(
        slug, event, path, text, head if size <= HEAD_BYTES else head[: len(head) * HEAD_BYTES // size]
    )


def dom_id(event: int, path: str) -> str:
    """Return the DOM id of a text inside an event."""
    return f"text-{event}-{path.replace('.', '-')}" if path else f"event-{event}-body"


def _cut_excerpt(slug: str, event: int, path: str, text: str, shown: str) -> Excerpt:
    lines = text.count("\n") + 1
    if len(shown) == len(text):
        return Excerpt(text, len(text), lines=lines)
    url = links.event_text(slug, event, path)
    return Excerpt(shown, len(text.encode()), url, dom_id(event, path), lines)


def result_text(result: Json) -> str:
    """Return the text of a tool result: its content, else its details; without `content` the whole value."""
    inside = obj(result)
    if "content" not in inside:
        return text_of(result) if result is not None else ""
    text = text_of(inside["content"]) if inside["content"] not in (None, []) else ""
    details = inside.get("details")
    return text or (pretty(details) if details is not None else "")
