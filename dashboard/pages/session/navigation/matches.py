"""The texts of a recorded event that a search looks at, by the call that they belong to. Pure.

A line repeats texts: an assistant's message holds the arguments of its calls, a message the result of one. So
a text of a call belongs to the call, whichever line has it, and any other text to the turn of its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboard.pages.session.events.bodies import Object, items, obj, result_text, string, text_of
from recorder.core.content.text import json_text
from recorder.core.records import Json

AROUND = 80  # characters of context on either side of a word


@dataclass(frozen=True, slots=True)
class Match:
    """A text that contains all words; `call` is the id of its tool call, "" for a text of the turn itself."""

    call: str
    text: str

    def excerpt(self, word: str) -> tuple[str, str, str]:
        """Return the word as it is written, and the text before and after it, with "…" where it is cut."""
        start = max(self.text.casefold().find(word), 0)
        end = start + len(word)
        before, after = self.text[:start], self.text[end:]
        if len(before) > AROUND:
            before = "…" + before[-AROUND:]
        if len(after) > AROUND:
            after = after[:AROUND] + "…"
        return before, self.text[start:end], after


def matches(kind: str, event: Object, line: str, words: Sequence[str]) -> list[Match]:
    """Return the texts of an event that contain all words, which are in lower case.

    If the line contains them and none of its texts does, such as the name of a model, the line is the text.
    """
    matching = [Match(call, text) for call, text in _texts(kind, event) if _has(text, words)]
    return matching or [Match(_call_of(event), line)]


def _texts(kind: str, event: Object) -> Iterator[tuple[str, str]]:
    match kind:
        case "MessageEnd":
            yield from _of_message(obj(event.get("message")))
        case "ToolExecutionStart":
            yield _call_of(event), _call_text(event.get("tool_name"), event.get("args"))
        case "ToolExecutionUpdate":
            yield _call_of(event), result_text(event.get("partial_result"))
        case "ToolExecutionEnd":
            yield _call_of(event), result_text(event.get("result"))
        case "ProgressMessage":
            yield _call_of(event), string(event.get("text"))
        case _:
            pass


def _of_message(message: Object) -> Iterator[tuple[str, str]]:
    content = message.get("content")
    if message.get("role") == "toolResult":
        yield string(message.get("toolCallId")), result_text(dict(message))
        return
    blocks = [obj(part) for part in items(content)]
    texts = [string(part.get(name)) for part in blocks for name in ("thinking", "text") if name in part]
    yield "", "\n".join(texts) if blocks else text_of(content) if isinstance(content, str) else ""
    for part in blocks:
        if part.get("type") == "toolCall":
            yield string(part.get("id")), _call_text(part.get("name"), part.get("arguments"))


def _call_of(event: Object) -> str:
    return string(event.get("tool_call_id"))


def _call_text(name: Json, arguments: Json) -> str:
    return f"{string(name)} {arguments if isinstance(arguments, str) else json_text(arguments)}"


def _has(text: str, words: Sequence[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)
