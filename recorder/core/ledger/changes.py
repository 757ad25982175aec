"""The part of a request that changed with its beginning: a tool, time, id, number, or other text. Pure.

Two texts differ by a time if they are equal once every date and time in both is replaced; then by ids, then
by numbers. So a time stamp is found wherever it stands, and however many there are. Cost: a few passes over
the two texts, and one over the blocks of both requests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

Change = Literal[
    "time", "id", "number", "text", "added", "removed", "moved", "described", "compaction", "prune", ""
]
FIXED = ("tool_definition", "system")
MARK = "changed: "  # before the change in the detail of the block that has it
TEXTUAL: tuple[Change, ...] = ("time", "id", "number")
_MONTHS = (
    "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    "|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?"
)
_DAYS = (
    "Mon(?:day)?|Tue(?:s(?:day)?)?|Wed(?:nesday)?|Thu(?:r(?:s(?:day)?)?)?|Fri(?:day)?|Sat(?:urday)?"
    "|Sun(?:day)?"
)
_TIMES = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:?\d\d(?::?\d\d(?:[.,]\d{1,9})?)?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
    r"|\d{4}年\d{1,2}月\d{1,2}日|\d{1,2}[时時]\d{1,2}分(?:\d{1,2}秒)?"
    r"|\b\d{1,2}[/.]\d{1,2}[/.](?:\d{4}|\d\d)\b|\b\d{4}/\d\d?/\d\d?\b"
    rf"|\b(?:{_MONTHS})\b\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:{_MONTHS})\b(?:,? \d{{4}})?|\b(?:{_DAYS})\b"
    r"|\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?[AaPp]\.?[Mm]\b\.?)?|\b\d{1,2} ?[AaPp]\.?[Mm]\b"
    r"|\b1\d{9}(?:\d{3}){0,3}(?:\.\d{1,9})?\b"  # seconds, or parts of them, since 1970
    r"|\b\d{1,9} (?:second|minute|hour|day|week)s? ago\b"
)
_IDS = re.compile(r"\b[0-9A-Za-z_-]{6,200}\b")
_NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")


class Part(NamedTuple):
    """A block of a request for a comparison: its number in the chain, kind, name, and detail."""

    number: int
    kind: str
    name: str
    detail: str = ""


def change_of_text(before: str, after: str) -> Change:
    """Return by what two texts differ; "text" if by more than times, ids and numbers."""
    for change, replaced in (("time", _without_times), ("id", _without_ids), ("number", _without_numbers)):
        before, after = replaced(before), replaced(after)
        if before == after:
            return change  # type: ignore[return-value]  # a literal of the tuple
    return "text"


def change_of(
    before: Sequence[Part], after: Sequence[Part], place: int, *, compacted: bool, pruned: bool
) -> Change:
    """Return what changed at the first block that differs, `place` from 0; "" if nothing did."""
    if place >= len(before):
        return ""
    old, new = before[place], after[place] if place < len(after) else None
    is_message = old.kind not in FIXED and (new is None or new.kind not in FIXED)
    if is_message and (compacted or pruned):
        return "compaction" if compacted else "prune"
    if old.kind == "tool_definition" or (new is not None and new.kind == "tool_definition"):
        return _change_of_tools(before, after, place)
    return _change_of_block(old, new, {part.number for part in before})


def _change_of_tools(before: Sequence[Part], after: Sequence[Part], place: int) -> Change:
    names, later = (
        {part.name for part in side if part.kind == "tool_definition"} for side in (before, after)
    )
    new = after[place] if place < len(after) else None
    if new is not None and new.kind == "tool_definition" and new.name not in names:
        return "added"
    if before[place].kind == "tool_definition" and before[place].name not in later:
        return "removed"
    numbers = {part.number for part in before}
    if new is not None and new.kind == "tool_definition" and new.number not in numbers:
        return _textual(new) or "described"
    return "moved"


def _change_of_block(old: Part, new: Part | None, numbers: set[int]) -> Change:
    if new is None or new.number in numbers:
        return "removed"
    if new.kind != old.kind:
        return "added" if new.kind == "system" else "removed" if old.kind == "system" else "text"
    return _textual(new) or "text"


def _textual(part: Part) -> Change:
    found = part.detail.removeprefix(MARK)
    is_marked = part.detail.startswith(MARK)
    return next((change for change in TEXTUAL if is_marked and change == found), "")


def _without_times(text: str) -> str:
    return _TIMES.sub("\0", text)


def _without_ids(text: str) -> str:
    """Return a text without words that mix letters and digits, as ids do; ordinary words stay."""
    return _IDS.sub(_id, text)


def _id(match: re.Match[str]) -> str:
    word = match[0]
    digits = sum(character.isdigit() for character in word)
    return "\1" if digits > 1 and digits < len(word) else word


def _without_numbers(text: str) -> str:
    return _NUMBERS.sub("\2", text)
