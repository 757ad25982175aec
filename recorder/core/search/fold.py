"""The normal form in which texts and searched words are compared, and the classes of characters in it.

In order, and why:

1. JSON escapes: many producers write `json.dumps(...)` into a text, so that it holds `\\u5185` instead of the
   character; also with several backslashes, for JSON inside JSON. (RFC 8259, section 7.)
2. Compatibility decomposition and full case folding, as in NFKC_Casefold (Unicode Standard, 3.13): full-width
   Latin, half-width kana, ligatures, `ß` and `SS`.
3. Marks that writers may leave out are dropped: accents, Hebrew points, the vowels and the tatweel of Arabic.
   Every other mark stays, because it is a letter of its script: the voicing of kana, the vowel and tone signs
   of Thai, the vowel signs of Indic scripts.
4. Characters without a meaning of their own are dropped: soft hyphen, joiners, marks of direction, variation
   selectors (Unicode Standard, 23). A zero-width space or non-joiner ends a word, as a space does.
5. Canonical composition, so that a syllable of Hangul is one character.

ASCII text needs only a lower case; that is ten times as fast.
"""

from __future__ import annotations

import re
import unicodedata

# Written without spaces between words: Thai, Lao, Myanmar, Khmer, Hangul, kana, bopomofo, Han.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0edf\u1000-\u109f\u1780-\u17dd\u1100-\u11ff"
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Symbols that are searched, each by itself: technical ones, weather to dingbats, stars, emoji. Arrows, lines
# of boxes and mathematical signs are punctuation.
PICTOGRAPHS = "\u2300-\u23ff\u2600-\u2775\u2794-\u27bf\u2b00-\u2bff\U0001f000-\U0001f0ff\U0001f10d-\U0001faff"
_DROPPED = re.compile(
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"  # accents
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"  # Arabic
    "\u00ad\u034f\u061c\u200d-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]+"
)
_ESCAPED = re.compile(r"(?:\\+u[0-9a-fA-F]{4})+")
_CODE = re.compile(r"\\+u([0-9a-fA-F]{4})")


def fold(text: str) -> str:
    """Return a text in its normal form. Folding twice changes nothing, once JSON escapes are decoded."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", _DROPPED.sub("", folded))


def decode_escapes(text: str) -> str:
    """Return a text with its `\\uXXXX` escapes as characters; half of a surrogate pair stays as it is."""
    return _ESCAPED.sub(_decoded, text) if "\\u" in text else text


def joining_marks() -> str:
    """Return the marks that belong to the word before them, as the inside of a character class."""
    blocks = (range(0x0900, 0x0E00), range(0x0F00, 0x1000), range(0x1700, 0x1AB0), range(0x1B00, 0x1CD0))
    more = (range(0xA800, 0xAC00), range(0x07A6, 0x07B1), range(0x11000, 0x12000))
    every = (chr(code) for block in (*blocks, *more) for code in block)
    return "".join(mark for mark in every if unicodedata.category(mark) in ("Mn", "Mc"))


def _decoded(escapes: re.Match[str]) -> str:
    codes = [int(code, 16) for code in _CODE.findall(escapes[0])]
    units = b"".join(code.to_bytes(2, "big") for code in codes)
    try:
        return units.decode("utf-16-be")
    except UnicodeDecodeError:
        return escapes[0]
