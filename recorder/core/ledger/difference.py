"""The first difference of two requests: the block, the byte, and the text around it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from recorder.core.ledger.blocks import Kind, blocks_with_texts
from recorder.core.records import Json

AROUND = 80  # characters before and after the difference


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The text around a place: what both have before it, and what one of them has from there on."""

    before: str
    changed: str
    after: str


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference. An excerpt is None where a request ends before the block.

    `block` counts from 1; `byte` is the place in its text, or -1 if the later request ends before it;
    `path` is the place in the block's JSON, "" if it is no JSON.
    """

    block: int
    kind: Kind
    name: str
    byte: int
    path: str
    earlier: Excerpt | None
    later: Excerpt | None


def first_difference(earlier: Mapping[str, Json], later: Mapping[str, Json]) -> Difference | None:
    """Return where two payloads differ first; None if the later one only appends. Cost: their length."""
    pairs = zip_longest(blocks_with_texts(earlier), blocks_with_texts(later))
    for number, (before, after) in enumerate(pairs, start=1):
        if before is None:
            return None
        block, text = after if after is not None else before
        if after is None:
            return Difference(number, block.kind, block.name, -1, "", _whole(before[1]), None)
        if before[0].key != block.key:
            return _of_texts(number, block.kind, block.name, before[1], text)
    return None


def _of_texts(number: int, kind: Kind, name: str, before: str, after: str) -> Difference:
    start = common_prefix(before, after)
    end = _common_suffix(before[start:], after[start:])
    place = len(after[:start].encode(errors="surrogatepass"))
    path = json_path(after, start)
    excerpts = [_excerpt(text, start, len(text) - end) for text in (before, after)]
    return Difference(number, kind, name, place, path, *excerpts)


def _excerpt(text: str, start: int, end: int) -> Excerpt:
    changed = text[start:end]
    shown = changed if len(changed) <= AROUND else changed[: AROUND - 1] + "…"
    return Excerpt(text[max(0, start - AROUND) : start], shown, text[end : end + AROUND])


def _whole(text: str) -> Excerpt:
    return _excerpt(text, 0, len(text))


def common_prefix(one: str, other: str) -> int:
    """Return the length of the common prefix: a binary search, which compares long texts at once."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_suffix(one: str, other: str) -> int:
    return common_prefix(one[::-1], other[::-1])


def json_path(text: str, place: int) -> str:
    """Return the path to a character of a JSON text, such as `properties[2].type`; "" for another text."""
    if not text.startswith(("{", "[")):
        return ""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return _path(text, place)


def _path(text: str, place: int) -> str:
    """Scan JSON up to a place, and return where that is."""
    steps: list[list[object]] = []  # the kind of each open bracket, and the key or index within it
    index, is_key = 0, False
    while index <= min(place, len(text) - 1):
        character = text[index]
        if character == '"':
            end = _end_of_text(text, index)
            if is_key and steps:
                steps[-1][1] = text[index + 1 : end - 1]
            index = end
            continue
        if character in "{[":
            steps.append([character, 0 if character == "[" else ""])
            is_key = character == "{"
        elif character in "}]" and steps:
            if index == place:
                break
            steps.pop()
            is_key = False
        elif character == ":":
            is_key = False
        elif character == "," and steps:
            is_key = steps[-1][0] == "{"
            if not is_key:
                steps[-1][1] = int(str(steps[-1][1])) + 1
        index += 1
    return _joined([step[1] for step in steps])


def _end_of_text(text: str, start: int) -> int:
    index = start + 1
    while index < len(text) and text[index] != '"':
        index += 2 if text[index] == "\\" else 1
    return index + 1


def _joined(parts: Sequence[object]) -> str:
    found = ""
    for part in parts:
        if isinstance(part, int):
            found += f"[{part}]"
        elif part:
            found += f".{part}" if found else str(part)
    return found
