"""Text from agents, made safe for a database column: no NUL, no lone surrogate, cut to length."""

from __future__ import annotations

import json
import re

from recorder.core.records import Json

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# Markdown tables: the separator line, bars around rows, empty cells before the first.
_TABLE = re.compile(r"(?m)^[ \t]*\|(?=[ \t:|]*-)[-:| \t]*$|^[ \t]*\|[| \t]*| ?\|[ \t]*$")
# Markdown marks: headings, quotes and lists; code and emphasis around words. Each pattern starts with a
# literal character, so that re searches for that character instead of trying every position.
_LEADING = re.compile(r"\n[ \t]{0,3}(?:#{1,6}|>|[-*+]|\d{1,3}\.)[ \t]+")
_INLINE = re.compile(r"`{1,3}|\*\*|\*(?<!\w\*)(?=\S)|\*(?<=\S\*)(?!\w)")
_SCALES = (("k", 1_000, (1, 1, 0)), ("M", 1_000_000, (2, 1, 0)), ("B", 1_000_000_000, (2, 1, 0)))
_LINE = 200  # characters
_DEPTH = 64  # of a value that could not be written whole
TOO_DEEP = "… nested too deeply to be shown"
_SCAN_LIMIT = 4_000  # characters examined for one line; arguments can be megabytes


def clean(text: str, limit: int | None = None) -> str:
    """Return a text that every database stores, cut to `limit` characters."""
    cut = text if limit is None else text[:limit]
    if cut.isascii() and "\x00" not in cut:  # nearly all text; both tests are fast
        return cut
    return _UNSTORABLE.sub("\ufffd", cut)


def plural(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 turn`, `2,000 turns`, and with `many` another plural than by an s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def excerpt(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text` in one line, with an ellipsis if it continues."""
    begin = text[: limit + 1]
    if begin.isprintable() and "  " not in begin and begin and begin[0] != " " != begin[-1]:
        return begin if len(begin) <= limit else begin[: limit - 1].rstrip() + "…"  # the same result, faster
    line = " ".join(text[: limit * 2].split())
    if len(line) <= limit and len(text) > limit * 2:
        line = " ".join(text[: max(limit * 4, _SCAN_LIMIT)].split())
    return clean(line) if len(line) <= limit else clean(line[: limit - 1].rstrip()) + "…"


def strip_markdown(text: str) -> str:
    """Return the beginning of a text without Markdown marks, for a plain line of text."""
    plain = text[:_SCAN_LIMIT]
    if "|" in plain:
        plain = _TABLE.sub("", plain)
    plain = _LEADING.sub("\n", f"\n{plain}")[1:]
    return _INLINE.sub("", plain) if "*" in plain or "`" in plain else plain


def one_line(arguments: Json) -> str:
    """Return a tool's arguments in one line: the only value, or `name: value` pairs."""
    if isinstance(arguments, dict):
        if len(arguments) == 1:
            return excerpt(_plain(next(iter(arguments.values()))), _LINE)
        parts: list[str] = []
        for name, value in arguments.items():
            parts.append(f"{name}: {excerpt(_plain(value), _LINE)}")
            if sum(map(len, parts)) > _LINE:
                break
        return excerpt(", ".join(parts), _LINE)
    return "" if arguments is None else excerpt(_plain(arguments), _LINE)


def json_text(value: object, *, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    """Return a value as JSON. One that Python cannot write is cut at `_DEPTH` levels, and says so there.

    Arguments that an agent sent as text may be nested as deeply as Python reads, which is deeper than it
    writes. Lone surrogates stay.
    """
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    except RecursionError:
        return json.dumps(_cut(value, _DEPTH), ensure_ascii=False, indent=indent, separators=separators)


def format_token_count(count: int) -> str:
    """Return a token count as text: exact below 1,000, else at most three digits: 1.2k 12.3k 148k 1.80M."""
    if count < 1_000:
        return str(count)
    for unit, size, places in _SCALES:
        for digits, limit in zip(places, (10, 100, 1_000), strict=True):
            text = f"{count / size:.{digits}f}"
            if float(text) < limit:
                return text + unit
    return f"{count / 1_000_000_000:,.0f}B"


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value)


def _cut(value: object, depth: int) -> object:
    if not isinstance(value, dict | list) or not value:
        return value
    if depth == 0:
        return TOO_DEEP
    if isinstance(value, list):
        return [_cut(each, depth - 1) for each in value]
    return {name: _cut(each, depth - 1) for name, each in value.items()}
