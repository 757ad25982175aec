"""Reads the lines of a transcript as they are sent and imported, with memory and work bounded for any file.

What is sent and what is imported have the same numbers, so both use `read_line` and `prepared`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from loopscope_client.transcripts.bad_lines import whole_lines
from loopscope_client.transcripts.long_lines import LINE_MAX, beginning, cut

WHOLE_MAX = 32 * 1024 * 1024  # bytes; of a longer line only the first LINE_MAX + 2 are kept
_HALVES = 2  # NUL of a blank line in UTF-16
Mask = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class RawLine:
    """The content of a file up to a newline, without the newline."""

    text: bytes
    length: int  # in the file, with the newline
    has_end: bool  # False: the file ends here, and the line may go on later
    is_whole: bool  # False: it is longer than WHOLE_MAX


@dataclass(frozen=True, slots=True)
class Prepared:
    """A line as it is in the file, and as it is sent: masked, and not too long."""

    text: bytes
    sent: bytes


def prepared(raw: RawLine, mask: Mask | None = None) -> list[Prepared]:
    """Return what is sent of a line; none of a blank one. What `mask` leaves out is not in it."""
    if is_blank(raw.text):
        return []
    texts = whole_lines(raw.text) if raw.is_whole else [raw.text]
    shorten = cut if raw.is_whole else beginning
    # Masked before it is cut: of half a secret nothing is recognised.
    return [Prepared(text, shorten(mask(text) if mask else text)) for text in texts]


def is_blank(text: bytes) -> bool:
    """Return whether a line is blank; that of UTF-16 has the other half of a newline."""
    return not text.strip() or (not text.strip(b"\x00\r\t ") and text.count(b"\x00") <= _HALVES)


def read_line(file: BinaryIO) -> RawLine | None:
    """Return the next line, None at the end of the file.

    A short read without a newline is the end of the file. The rest of the line may be there at the next read,
    so no read may follow: the line would be cut.
    """
    parts = [part := file.readline(LINE_MAX + 2)]
    length = len(part)
    while len(part) == LINE_MAX + 2 and not part.endswith(b"\n"):
        part = file.readline(LINE_MAX + 2)
        length += len(part)
        if length <= WHOLE_MAX:
            parts.append(part)
        else:
            del parts[1:]
            length += _skip_hole(file)
    has_end = part.endswith(b"\n")
    text = b"".join(parts).removesuffix(b"\n").removesuffix(b"\r")
    return RawLine(text, length, has_end, length <= WHOLE_MAX) if length else None


def _skip_hole(file: BinaryIO) -> int:
    """Move a file on to its next data; return by how much. A sparse file may have terabytes of holes."""
    with suppress(OSError, ValueError, AttributeError):
        at, place = file.tell(), os.lseek(file.fileno(), 0, os.SEEK_CUR)
        found = os.lseek(file.fileno(), at, os.SEEK_DATA)
        os.lseek(file.fileno(), place, os.SEEK_SET)  # where the buffer of `file` ends
        if found > at:
            file.seek(found)
            return found - at
    return 0
