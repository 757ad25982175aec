"""Takes apart what stands on one line of a damaged transcript: bad bytes cost a line, not the file.

A power failure leaves runs of NUL, a crash the beginning of a record that the next one follows on its line,
and a redirection of PowerShell writes UTF-16. Each record is a line of its own then, and so is each
remainder, which the server rejects and keeps in quarantine: nothing is left out without a word.

A line without damage is returned as it is. The same line always gives the same lines, so numbers stay. Cost:
linear; of a damaged line at most `TRIES` times its length is parsed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

BOM = b"\xef\xbb\xbf"
PARSED_MAX = 8 * 1024 * 1024  # bytes of a line that is parsed to take it apart
TRIES = 8
COUNTED = 64  # an error of `json` counts the newlines before it, which is so many times as fast as parsing
PARTS_MAX = 64  # runs of NUL by which a line is taken apart; what follows them stays one line
RECORDS_MAX = 1_000  # of a line that are records of their own; what follows them stays one line
NULS = 256  # bytes that replace a longer run of NUL
# In JSON an object follows one of `:,[` or space, and a quotation mark in a string is escaped.
_SEAM = re.compile(rb'[^:,\[\s]\s*\{"')
_NULS = re.compile(rb"\x00+")
_BLANK = " \t\r\f\v"
_SPACE = re.compile(rf"[{_BLANK}\ufeff]*")
_DECODER = json.JSONDecoder()


def whole_lines(line: bytes) -> list[bytes]:
    """Return the records that stand on a line, and what is left of others, in order; at least one."""
    if b"\x00" not in line:
        line = line.removeprefix(BOM)
        return [line] if _looks_whole(line) else _apart(line) or [line]
    if (text := _of_utf16(line)) is not None:
        return [text]
    return [each for part in _parts(line) for each in part] or [line]


def is_object(line: bytes) -> bool:
    """Return whether a line is a whole JSON object."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _looks_whole(line: bytes) -> bool:
    """Return whether a line shows no sign of damage; one that does may still be whole."""
    body = line.strip()
    return (
        body[:1] == b"{"
        and body[-1:] == b"}"
        and body.count(b"{") == body.count(b"}")
        and _SEAM.search(body) is None
    )


def _parts(line: bytes) -> Iterator[list[bytes]]:
    """Yield the lines before, in and after each run of NUL."""
    end = 0
    for run in islice(_NULS.finditer(line), PARTS_MAX):
        if before := line[end : run.start()].strip():
            yield _apart(before)
        yield [run.group()[:NULS]]
        end = run.end()
    if after := line[end:].strip():
        yield _apart(after)


def _apart(line: bytes) -> list[bytes]:
    if len(line) > PARSED_MAX or is_object(line):
        return [line]
    text = line.decode(errors="surrogateescape")
    return [part.encode(errors="surrogateescape") for part in _split(text)]


def _split(text: str) -> list[str]:
    found: list[str] = []
    torn = at = _after_space(text, 0)  # `torn`: where what is no record begins
    budget = TRIES * len(text)
    while 0 <= at < len(text) and len(found) < RECORDS_MAX:
        record, end = _record(text, at)
        budget -= end - at if record is not None else end - at + end // COUNTED
        is_first = at == torn  # a text that begins a line, or follows a record, need not look like one
        if record is not None and (is_first or _is_record(record)):
            found += [each for each in (text[torn:at].strip(_BLANK), text[at:end]) if each]
            torn = at = _after_space(text, end)
            continue
        if budget < 0:
            break
        at = text.find('{"', end if record is not None and not is_first else at + 1)
    rest = text[torn:].strip(_BLANK)
    return [*found, rest] if rest else found


def _record(text: str, at: int) -> tuple[dict[str, object] | None, int]:
    """Return the object that begins at a place, and its end; None and the place of the error without one."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        return None, max(error.pos, at + 1)
    except (ValueError, RecursionError):
        return None, len(text)
    return (value, end) if isinstance(value, dict) else (None, end)


def _is_record(value: dict[str, object]) -> bool:
    """Return whether an object is a record, and no part of one that lacks its beginning or end."""
    has_time = isinstance(value.get("timestamp"), str) and not {"payload", "id"}.isdisjoint(value)
    has_session = isinstance(value.get("sessionId"), str)
    return list(value) == ["$set"] or (isinstance(value.get("type"), str) and (has_time or has_session))


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _of_utf16(line: bytes) -> bytes | None:
    """Return a line of UTF-16, which was cut at the byte of its newline, in UTF-8; None if it is none.

    A line may be one of either byte order: it is taken for the usual little-endian then.
    """
    if 3 * line.count(b"\x00") < len(line):
        return None
    little = line[2:] if line.startswith(b"\xff\xfe") else line.removeprefix(b"\x00")
    big = line[2:] if line.startswith(b"\xfe\xff") else line
    for encoding, raw in (("utf-16-le", little), ("utf-16-be", big[: len(big) // 2 * 2])):
        try:
            text = raw.decode(encoding).strip().encode()
        except UnicodeError:
            continue
        if b"\x00" not in text and is_object(text):
            return text
    return None
