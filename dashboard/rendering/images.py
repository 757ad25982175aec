"""What an image is, read from its own first bytes: no name or type that came with it is believed. Pure.

Only formats that browsers draw and that cannot run anything: PNG, JPEG, GIF and WebP, and only up to a size
that no browser minds.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from dataclasses import dataclass

BYTES_MAX = 5 * 2**20
SIDE_MAX, PIXELS_MAX = 10_000, 40_000_000
LOOKED_AT = 350_000  # characters of base64: a photo's size stands behind its metadata
_BLANK = re.compile(r"\s+")
# Frames of a JPEG that hold its size; the other codes in that range are tables.
_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True, slots=True)
class Image:
    """An image that may be shown."""

    mime: str
    width: int
    height: int


def decoded(data: str) -> bytes | None:
    """Return the bytes that base64 holds, None when it is too long or is not base64."""
    if len(data) > BYTES_MAX * 4 // 3 + 4:
        return None
    try:
        return base64.b64decode(_BLANK.sub("", data), validate=True)
    except (binascii.Error, ValueError):
        return None


def glimpsed(data: str) -> Image | None:
    """Return what the base64 of an image says it is, without decoding all of it."""
    if len(data) > BYTES_MAX * 4 // 3 + 4:
        return None
    begun = _BLANK.sub("", data[:LOOKED_AT])
    raw = decoded(begun[: len(begun) // 4 * 4])
    return known(raw) if raw else None


def known(raw: bytes) -> Image | None:
    """Return what an image is, from its first bytes; None for whatever is not to be shown."""
    for mime, size in (
        ("image/png", _png),
        ("image/gif", _gif),
        ("image/webp", _webp),
        ("image/jpeg", _jpeg),
    ):
        try:
            found = size(raw)
        except (struct.error, IndexError):
            continue
        if found is not None:
            width, height = found
            fits = 0 < width <= SIDE_MAX and 0 < height <= SIDE_MAX and width * height <= PIXELS_MAX
            return Image(mime, width, height) if fits else None
    return None


def _png(raw: bytes) -> tuple[int, int] | None:
    if not raw.startswith(b"\x89PNG\r\n\x1a\n") or raw[12:16] != b"IHDR":
        return None
    width, height = struct.unpack(">II", raw[16:24])
    return width, height


def _gif(raw: bytes) -> tuple[int, int] | None:
    if not raw.startswith((b"GIF87a", b"GIF89a")):
        return None
    width, height = struct.unpack("<HH", raw[6:10])
    return width, height


def _webp(raw: bytes) -> tuple[int, int] | None:
    if raw[:4] != b"RIFF" or raw[8:12] != b"WEBP":
        return None
    match raw[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(raw[24:27], "little"), 1 + int.from_bytes(raw[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(raw[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            width, height = struct.unpack("<HH", raw[26:30])
            return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(raw: bytes) -> tuple[int, int] | None:
    if not raw.startswith(b"\xff\xd8\xff"):
        return None
    at = 2
    while at + 9 < len(raw):
        if raw[at] != 0xFF:
            return None
        code = raw[at + 1]
        if code in _FRAMES:
            height, width = struct.unpack(">HH", raw[at + 5 : at + 9])
            return width, height
        at += 1 if code == 0xFF else 2 + max(struct.unpack(">H", raw[at + 2 : at + 4])[0], 2)
    return None
