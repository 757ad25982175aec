"""Encoding of events as lines of JSON; it accepts every value.

NaN and Infinity become null, values without a JSON form their `repr`, lone surrogates stay as escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import accumulate
from math import isfinite

LINE_BYTES = 4 * 1024 * 1024  # the server's own default limit for one event
DEPTH = 100  # the server reads 128 levels
_CUTS = (1 << 18, 1 << 14, 1 << 10)
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_STEP = {"{": 1, "[": 1, "}": -1, "]": -1}
_SMALL = 2_000
# Fields that the server computes with: they stay in the shortest form of a huge event.
_COMPUTED = frozenset(("usage", "evaluation_usage", "config_snapshot", "continuation_kind", "loop_ids"))


def line_of(event: Mapping[str, object]) -> bytes:
    """Return an event as one line."""
    line = ""
    try:
        line = json.dumps(event, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError, RuntimeError):
        line = ""
    if not line or (line.count("{") + line.count("[") > DEPTH and _depth(line) > DEPTH):
        line = json.dumps(_cleaned(event, DEPTH, frozenset()), allow_nan=False, separators=(",", ":"))
    return line.encode("ascii")


def shortened(line: bytes, limit: int) -> bytes:
    """Return the line with its texts cut to at most `limit` bytes; `cut_from_bytes` has its former size."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return line[:limit]  # not an event: the server rejects it and shows its beginning
    if not isinstance(event, dict):
        return line[:limit]
    event["cut_from_bytes"] = len(line)
    for longest in _CUTS:
        shorter = _dumped({name: _cut(value, longest) for name, value in event.items()})
        if len(shorter) <= limit:
            return shorter
    return _dumped({name: _head(name, value) for name, value in event.items()})


def _dumped(event: dict[str, object]) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode("ascii")


def _depth(line: str) -> int:
    brackets = (_STEP[c] for c in _STRING.sub("", line) if c in _STEP)
    return max(accumulate(brackets), default=0)


def text_of(value: object) -> str:
    """Return text as it is and anything else as its repr; never raises."""
    if isinstance(value, str):
        return value
    try:
        return repr(value)
    except Exception:  # noqa: BLE001  a foreign __repr__ may raise anything
        return f"<{type(value).__name__}>"


def _cleaned(value: object, depth: int, above: frozenset[int]) -> object:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if not isinstance(value, int) and (depth <= 0 or id(value) in above):
        return text_of(value)[:_SMALL]
    inside = above | {id(value)}
    if isinstance(value, Mapping):
        return {_name(key): _cleaned(item, depth - 1, inside) for key, item in list(value.items())}
    if isinstance(value, list | tuple):
        return [_cleaned(item, depth - 1, inside) for item in list(value)]
    return _whole(value) if isinstance(value, int) else text_of(value)


def _whole(value: int) -> int | str:
    try:
        json.dumps(value)
    except ValueError:  # more digits than Python prints
        return f"<an integer of {value.bit_length()} bits>"
    return value


def _name(key: object) -> str:
    return key if isinstance(key, str) else text_of(key)


def _cut(value: object, longest: int) -> object:
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]} [{len(value) - longest} characters cut]"
    if isinstance(value, dict):
        return {name: _cut(item, longest) for name, item in value.items()}
    if isinstance(value, list):
        return [_cut(item, longest) for item in value]
    return value


def _head(name: str, value: object) -> object:
    if isinstance(value, str):
        return value[:_SMALL]
    if isinstance(value, dict | list) and (name not in _COMPUTED or len(_dumped({name: value})) > 1 << 16):
        role = value.get("role") if isinstance(value, dict) else None
        return (
            {"role": role, "content": "[cut]"}
            if isinstance(role, str)
            else []
            if isinstance(value, list)
            else None
        )
    return value
