"""Format and size of an image, read from its first bytes; a declared name or type is ignored. Pure.

Only formats that cannot contain scripts are accepted: PNG, JPEG, GIF and WebP, up to SIDE_MAX and
PIXELS_MAX.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from dataclasses import dataclass

BYTES_MAX = 5 * 2**20
SIDE_MAX, PIXELS_MAX = 10_000, 40_000_000
PREFIX_MAX = 350_000  # characters of base64: the size of a JPEG comes after its metadata
_BLANK = re.compile(r"\s+")
# JPEG frame markers that contain the size; the other codes in that range are tables.
_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True, slots=True)
class Image:
    """An image that may be shown."""

    mime: str
    width: int
    height: int


def decode_base64(data: str) -> bytes | None:
    """Decode base64; None if it is too long or invalid."""
    if len(data) > BYTES_MAX * 4 // 3 + 4:
        return None
    try:
        return base64.b64decode(_BLANK.sub("", data), validate=True)
    except (binascii.Error, ValueError):
        return None


def identify_base64(data: str) -> Image | None:
    """Identify an image in base64 without decoding all of it."""
    if len(data) > BYTES_MAX * 4 // 3 + 4:
        return None
    begun = _BLANK.sub("", data[:PREFIX_MAX])
    raw = decode_base64(begun[: len(begun) // 4 * 4])
    return identify(raw) if raw else None


def identify(raw: bytes) -> Image | None:
    """Identify an image from its first bytes; None if it must not be shown."""
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
