"""An exception on a recorded line as one line of the log, and its hash.

Any client can send a line that meets a bug of ours again and again, so the log gets one line for it and not a
traceback of many. It has the places of all frames and no text of the exception, which may quote the line.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path


def digest(error: Exception) -> str:
    """Return a hash of the traceback; the same bug has the same hash on every machine."""
    return sha256("\n".join([type(error).__name__, *_places(error)]).encode()).hexdigest()[:12]


def one_line(error: Exception) -> str:
    """Return the class of the exception, and file, function and line of each frame, the innermost first."""
    return " < ".join([type(error).__name__, *reversed([*_places(error)])])


def _places(error: Exception) -> Iterator[str]:
    for frame in traceback.extract_tb(error.__traceback__):
        yield f"{Path(frame.filename).name}:{frame.name}:{frame.lineno}"
