"""What a terminal would show: colours as classes, and nothing else that an escape can do. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SPANS_MAX = 4_000  # then the rest is plain
# Any escape: of a CSI the parameters and the final byte, an OSC up to its end, or two characters.
_ESCAPE = re.compile(r"\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_()#%][0-~]?|)|\x9b")
_UNFIT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_OVERWRITTEN = re.compile(r"(?m)^[^\n]*\r(?=[^\n\r])")
_LEVELS = (0, 95, 135, 175, 215, 255)
# The eight colours as red, green and blue, each on or off.
_ON = {(r, g, b): r + 2 * g + 4 * b for r in (0, 1) for g in (0, 1) for b in (0, 1)}
_STYLES = {1: "bold", 2: "dim", 3: "slant", 4: "line", 7: "swap", 9: "gone"}
_ENDS = {22: ("bold", "dim"), 23: ("slant",), 24: ("line",), 27: ("swap",), 29: ("gone",)}


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text, and its classes: `f1` red letters, `b4` on blue, `bold` and so on."""

    classes: str
    text: str


def has_escapes(text: str) -> bool:
    return "\x1b" in text or "\x9b" in text


def plain(text: str) -> str:
    """Return a text as it reads without any escape."""
    return "".join(span.text for span in spans(text)) if has_escapes(text) else text


def spans(text: str) -> list[Span]:
    """Return a text in stretches of one look; what a carriage return overwrote is left out."""
    return list(_spans(_OVERWRITTEN.sub("", text.replace("\r\n", "\n"))))


def _spans(text: str) -> Iterator[Span]:
    look: dict[str, str] = {}
    at = count = 0
    for found in _ESCAPE.finditer(text):
        if found.start() > at:
            yield Span(" ".join(look.values()), _UNFIT.sub("", text[at : found.start()]))
        at = found.end()
        count += 1
        if found[2] == "m" and count <= SPANS_MAX:
            _turn(look, found[1])
        elif count > SPANS_MAX:
            look.clear()
    if at < len(text):
        yield Span(" ".join(look.values()), _UNFIT.sub("", text[at:]))


def _turn(look: dict[str, str], parameters: str) -> None:
    """Change the look as one escape says; what it says wrongly changes nothing."""
    codes = [int(code) if code.isdecimal() and len(code) < 4 else 0 for code in parameters.split(";")[:20]]
    while codes:
        code = codes.pop(0)
        if code == 0:
            look.clear()
        elif code in _STYLES:
            look[_STYLES[code]] = _STYLES[code]
        elif code in _ENDS:
            for name in _ENDS[code]:
                look.pop(name, None)
        elif code in (38, 48):
            colour = _extended(codes)
            if colour is not None:
                look["f" if code == 38 else "b"] = f"{'f' if code == 38 else 'b'}{colour}"
        elif code in (39, 49):
            look.pop("f" if code == 39 else "b", None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            look["f"] = f"f{code % 10}"
        elif 40 <= code <= 47 or 100 <= code <= 107:
            look["b"] = f"b{code % 10}"


def _extended(codes: list[int]) -> int | None:
    """Return which of the eight colours is nearest to one of 256, or of all."""
    kind = codes.pop(0) if codes else 0
    if kind == 5 and codes:
        code = codes.pop(0)
        if code < 16:
            return code % 8
        if code > 231:
            return _nearest([code > 243] * 3)
        cube = code - 16
        return _nearest(_LEVELS[part % 6] > 127 for part in (cube // 36, cube // 6, cube))
    if kind == 2 and len(codes) >= 3:
        parts = [codes.pop(0) for _ in range(3)]
        return _nearest(part > 127 for part in parts)
    return None


def _nearest(parts: Iterator[bool] | Sequence[bool]) -> int:
    red, green, blue = map(int, parts)
    return _ON[red, green, blue]
