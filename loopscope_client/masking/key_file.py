"""The key of masks for the commands: given by the user, or random and kept in a folder of the user.

A line that is sent again after a restart must be the same line, so its tags must be the same.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

NAME = "mask.key"
VARIABLE = "LOOPSCOPE_MASK_KEY"
_DIGITS = 64
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def stored_key(folder: Path) -> bytes:
    """Return the key of a folder; the first call makes it, readable by this user alone (mode 0600).

    Processes that call it at once get the same key. Raises OSError, or ValueError if the file holds no key.
    """
    path = folder / NAME
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        _make(path)
    key = path.read_bytes().strip()
    if len(key) != _DIGITS:
        raise ValueError(f"{path} holds no key of masks")
    return key


def _make(path: Path) -> None:
    """Create the file whole and durably, unless another process was first."""
    draft = path.with_name(f"{path.name}.{token_hex(8)}")
    out = os.open(draft, _FLAGS, 0o600)
    try:
        with os.fdopen(out, "wb") as file:
            file.write(token_hex(_DIGITS // 2).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink()
    directory = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
