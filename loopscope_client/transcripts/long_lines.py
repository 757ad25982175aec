"""Shortens a line that the server would reject for its length: long texts in it keep their head and tail.

A result of 5 MB that is rejected leaves its tool call open for ever. Cost: linear, a few passes.
"""

from __future__ import annotations

import json
import re
from functools import partial

LINE_MAX = 4 * 1024 * 1024  # bytes; the server rejects a longer line
BEGINNING = 64 * 1024  # bytes of a line that cannot be shortened; the server keeps as many of a rejected line
KEPT = (256 * 1024, 32 * 1024, 4 * 1024, 256)  # characters of a text, tried in turn
MARK = "[loopscope: {} characters were left out here; the line had {} bytes]"
_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def cut(line: bytes) -> bytes:
    """Return a line of at most LINE_MAX bytes; one whose texts are short stays too long, without its end."""
    if len(line) <= LINE_MAX:
        return line
    for kept in KEPT:
        shorter = _TEXT.sub(partial(_shortened, kept, len(line)), line)
        if len(shorter) <= LINE_MAX:
            return shorter
    return beginning(line)


def beginning(line: bytes) -> bytes:
    """Return the beginning of a line, filled with spaces so that the server says why it rejects it."""
    return line[:BEGINNING].ljust(LINE_MAX + 2)


def _shortened(kept: int, size: int, match: re.Match[bytes]) -> bytes:
    literal = match.group()
    if len(literal) <= 2 * kept:
        return literal
    try:
        text = json.loads(literal)
    except ValueError:  # as in a line of no JSON
        return literal
    if len(text) <= kept:
        return literal
    half = kept // 2
    mark = MARK.format(len(text) - 2 * half, size)
    return json.dumps(f"{text[:half]}\n{mark}\n{text[-half:]}").encode()
