"""Thoughts that stand in the text of an answer: between tags, as open models write them, or unmarked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from recorder.core.formats.base import Fields

_OPENED = re.compile(
    r"\s*<((?:\w{1,20}:)?think(?:ing)?|thoughts?|reasoning)>(?P<thought>.*?)(?:</\1>\s*|\Z)"
    r"|\s*\[THINK\](?P<mistral>.*?)(?:\[/THINK\]\s*|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_END = re.compile(r"^[ \t]*</think>[ \t]*(?:\n\s*|\Z)", re.MULTILINE)


def without_tags(blocks: Iterable[Fields]) -> list[Fields]:
    """Return the blocks of an answer, of which thoughts at the start of the first text have their own."""
    found: list[Fields] = []
    is_first = True
    for block in blocks:
        found += _parts(str(block["text"])) if block["type"] == "text" and is_first else [block]
        is_first = is_first and block["type"] == "thinking"
    return found


def mark_first(blocks: list[Fields]) -> None:
    """Make the first text of an answer with several its thought, unless it has a marked one."""
    texts = [block for block in blocks if block["type"] == "text"]
    if len(texts) > 1 and all(block["type"] != "thinking" for block in blocks):
        place = blocks.index(texts[0])
        blocks[place] = {"type": "thinking", "thinking": texts[0]["text"]}


def _parts(text: str) -> Iterator[Fields]:
    match = _OPENED.match(text)
    thought = (match["thought"] or match["mistral"] or "") if match else ""
    if match is None and (match := _END.search(text)):
        # The template of a chat may open the tag, so that the answer has its end alone, on a line of its own.
        thought = text[: match.start()]
        is_sample = "<think>" in thought or thought.count("```") % 2
        match = None if is_sample else match
    if match is None:
        yield {"type": "text", "text": text}
        return
    if thought.strip():
        yield {"type": "thinking", "thinking": thought.strip()}
    if rest := text[match.end() :]:
        yield {"type": "text", "text": rest}
