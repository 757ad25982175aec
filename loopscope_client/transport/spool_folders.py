"""Locks on the producers' folders of a spool: at most one process works on a folder.

A lock ends with its process, so the next client claims the folder of a crashed process and sends its lines.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from loopscope_client.transport.spool import Spool, State


@dataclass(slots=True)
class LockedSpool:
    """A spool whose folder is locked by this process."""

    spool: Spool
    lock: int

    def close(self) -> None:
        """Unlock the folder; remove it when no line waits and its producer has no name."""
        with suppress(OSError):
            self.spool.close(remove=True)
        with suppress(OSError):
            os.close(self.lock)

    def abandon(self) -> None:
        """Close the files in a forked process; the folder and its lock stay the parent's."""
        self.spool.abandon()
        os.close(self.lock)


def default_root(url: str, token: str) -> Path:
    """Return this user's folder for a server and token, so that no line goes to another project.

    Raises RuntimeError when the user has no home.
    """
    state = os.environ.get("XDG_STATE_HOME")
    base = Path(state) if state else Path.home() / ".local" / "state"
    whose = hashlib.sha256(f"{url}\n{token}".encode(errors="replace")).hexdigest()[:16]
    return base / "loopscope" / "spool" / whose


def claim(root: Path, url: str, producer: str | None, budget: int, *, base: int | None = None) -> LockedSpool:
    """Lock the folder of a producer, or a new one, and open its spool. Raises OSError."""
    named = producer is not None
    name = producer or str(uuid4())
    locked = _claim(root, name)
    if locked is None:  # another process has this producer
        name = f"{name[:190]}-{uuid4().hex[:8]}"
        locked = _claim(root, name)
    if locked is None:
        raise OSError("the spool's folder cannot be locked")
    folder, lock = locked
    state = State.read(folder)
    if state is None:
        state = State(name, url, (base if named else 0), kept=named)
        state.write(folder)
    return LockedSpool(Spool(folder, state, budget), lock)


def claim_abandoned(root: Path, url: str, budget: int) -> Iterator[LockedSpool]:
    """Lock and yield the spools of terminated processes that have lines for this server."""
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        state = State.read(folder)
        if state is None or state.url != url:
            continue
        claimed = _claim(root, state.producer)
        if claimed is None:
            continue
        fresh = State.read(claimed[0])
        if fresh is None:
            os.close(claimed[1])
            continue
        locked = LockedSpool(Spool(claimed[0], fresh, budget), claimed[1])
        if locked.spool.waiting:
            yield locked
        else:
            locked.close()


def temporary() -> Path:
    """Create and return a temporary folder, for when no other is writable."""
    return Path(tempfile.mkdtemp(prefix="loopscope-spool-"))


def _claim(root: Path, producer: str) -> tuple[Path, int] | None:
    """Lock a producer's folder; None when another process has it."""
    folder = root / hashlib.sha256(producer.encode(errors="replace")).hexdigest()[:24]
    for _ in range(3):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # the folder was removed in between
            continue
        if _locked(lock) and _is_there(folder / "lock", lock):
            return folder, lock
        os.close(lock)
        if (folder / "lock").exists():
            return None
    return None


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_there(path: Path, lock: int) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    mine = os.fstat(lock)
    return (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)
