"""Completion of a query at the cursor: which key or value is being typed, and what it may become. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dashboard.query_language.keys import KEYS, NAMED, Key, find
from dashboard.query_language.tokens import is_plain_value, quote_value

ITEMS_MAX = 8
KEY = re.compile(r'[-!]?(?P<key>[A-Za-z][A-Za-z0-9_-]*(?:\.[^\s:()"]*)?)?\Z')
VALUE = re.compile(
    r'[-!]?(?P<key>[A-Za-z][A-Za-z0-9_-]*(?:\.[^\s:()"]+)?):(?P<list>\[(?:[^\]\s]*,)?)?(?P<value>"?[^"\]\[,]*)\Z'
)


@dataclass(frozen=True, slots=True)
class Place:
    """The text typed at the cursor, from `start` to `end`; the chosen item replaces it."""

    start: int
    end: int
    typed: str
    key: str = ""  # whose value is typed; "" for a key
    in_list: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One completion: the text that replaces what is typed, what is shown, and a note beside it."""

    text: str
    shown: str
    note: str


def place(text: str, at: int) -> Place | None:
    """Return what is typed before the cursor; None where nothing can be completed."""
    at = min(max(at, 0), len(text))
    start = _start_of_term(text[:at])
    term = text[start:at]
    if value := VALUE.match(term):
        key = find(value["key"])
        typed = value["value"].removeprefix('"')
        if key:
            return Place(start + value.start("value"), at, typed, key[0], bool(value["list"]))
        return None
    name = KEY.match(term)
    if name is None:
        return None
    typed = name["key"] or ""
    return Place(at - len(typed), at, typed)


def keys(typed: str, names: Iterable[str] = ()) -> list[Item]:
    """Return the keys that begin with a text, with the recorded `names` of metadata and scores."""
    known = [
        Item(f"{key.name}:", f"{key.name}:", key.meaning) for key in KEYS.values() if key.name not in NAMED
    ]
    named = [
        Item(f"{name}:", f"{name}:", "metadata" if name.startswith("metadata") else "score") for name in names
    ]
    return [item for item in (*known, *named) if item.text.lower().startswith(typed.lower())][:ITEMS_MAX]


def values(place: Place, counts: Mapping[str, int]) -> list[Item]:
    """Return the values that hold what is typed: those that begin with it first, then the most frequent."""
    key = _key(place.key)
    typed = place.typed.lower()
    words = dict.fromkeys(_own(key), "") | {text: f"{number:,}" for text, number in counts.items()}
    found = [text for text in words if typed in text.lower()]
    found.sort(key=lambda text: (not text.lower().startswith(typed), -counts.get(text, 0), text))
    if key.types[0] in ("choice", "boolean"):
        found = [text for text in words if text.lower().startswith(typed)]
    prefix = "" if place.in_list else f"{place.key}:"
    return [Item(_plain_or_quoted(text), f"{prefix}{text}", words[text]) for text in found[:ITEMS_MAX]]


def example(place: Place) -> list[Item]:
    """Return an example of a number, an amount, a duration or a time, until something is typed."""
    key = _key(place.key)
    if place.typed or not {"number", "amount", "duration", "time"} & set(key.types):
        return []
    value = key.example.partition(":")[2]
    return [Item(value, key.example, key.meaning)]


def _start_of_term(text: str) -> int:
    """Return where the last term begins: behind the last space or parenthesis outside quotes."""
    start, is_quoted, is_escaped = 0, False, False
    for at, char in enumerate(text):
        if is_quoted:
            is_quoted = is_escaped or char != '"'
            is_escaped = char == "\\" and not is_escaped
        elif char == '"':
            is_quoted = True
        elif char.isspace() or char in "()":
            start = at + 1
    return start


def _key(name: str) -> Key:
    found = find(name)
    assert found is not None
    return found[1]


def _own(key: Key) -> tuple[str, ...]:
    return (*key.choices, *(("true", "false") if "boolean" in key.types and key.name != "score." else ()))


def _plain_or_quoted(text: str) -> str:
    return text if is_plain_value(text) else quote_value(text)
