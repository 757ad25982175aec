"""ANSI escapes: colours and styles become CSS classes, all other escapes are removed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SPANS_MAX = 4_000  # the rest of the text stays plain
# Any escape: a CSI with parameters and final byte, an OSC up to its end, or two characters.
_ESCAPE = re.compile(
    r"\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_()#%][0-~]?|)|\x9b"
)
_UNFIT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_OVERWRITTEN = re.compile(r"(?m)^[^\n]*\r(?=[^\n\r])")
_LEVELS = (0, 95, 135, 175, 215, 255)
# The eight colours; red, green and blue are each on or off.
_ON = {(r, g, b): r + 2 * g + 4 * b for r in (0, 1) for g in (0, 1) for b in (0, 1)}
# Attribute and value of each code; "" resets the attribute.
_CODES: dict[int, dict[str, str]] = {
    1: {"weight": "bold"},
    2: {"weight": "dim"},
    3: {"slant": "italic"},
    4: {"line": "underline"},
    7: {"swap": "inverse"},
    9: {"gone": "concealed"},
    22: {"weight": ""},
    23: {"slant": ""},
    24: {"line": ""},
    27: {"swap": ""},
    29: {"gone": ""},
    39: {"color": ""},
    49: {"background": ""},
    **{first + n: {"color": f"color-{n}"} for first in (30, 90) for n in range(8)},
    **{first + n: {"background": f"background-{n}"} for first in (40, 100) for n in range(8)},
}


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text and its classes: `f1` red, `b4` on blue, `bold` and so on."""

    classes: str
    text: str


def has_escapes(text: str) -> bool:
    return "\x1b" in text or "\x9b" in text


def plain(text: str) -> str:
    """Remove all escapes."""
    return "".join(span.text for span in spans(text)) if has_escapes(text) else text


def spans(text: str) -> list[Span]:
    """Split a text into parts of one style; text that a carriage return overwrites is left out."""
    return list(_spans(_OVERWRITTEN.sub("", text.replace("\r\n", "\n"))))


def _spans(text: str) -> Iterator[Span]:
    look: dict[str, str] = {}
    at = 0
    for count, found in enumerate(_ESCAPE.finditer(text)):
        if found.start() > at:
            yield _span(look, text[at : found.start()])
        at = found.end()
        if count >= SPANS_MAX:
            look.clear()
        elif found[2] == "m":
            _turn(look, found[1])
    if at < len(text):
        yield _span(look, text[at:])


def _span(look: dict[str, str], text: str) -> Span:
    return Span(" ".join(filter(None, look.values())), _UNFIT.sub("", text))


def _turn(look: dict[str, str], parameters: str) -> None:
    """Apply one escape to the style; an invalid escape changes nothing."""
    codes = [int(code) if code.isdecimal() and len(code) < 4 else 0 for code in parameters.split(";")[:20]]
    while codes:
        code = codes.pop(0)
        if code == 0:
            look.clear()
        elif code in (38, 48):
            name, colour = "color" if code == 38 else "background", _nearest_colour(codes)
            look |= {name: f"{name}-{colour}"} if colour is not None else {}
        else:
            look |= _CODES.get(code, {})


def _nearest_colour(codes: list[int]) -> int | None:
    """Return the nearest of the eight colours to a 256-colour or RGB value."""
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
