"""Which folder of a spool is whose: one process works on a producer's folder, and the dead leave theirs.

A lock on the folder dies with its process, so what a crash left behind is found and sent by the next client.
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
class Held:
    """A spool whose folder is locked by this process."""

    spool: Spool
    lock: int

    def close(self) -> None:
        """Let it go, and remove it when it is empty and anonymous."""
        with suppress(OSError):
            self.spool.close(remove=True)
        with suppress(OSError):
            os.close(self.lock)

    def abandon(self) -> None:
        """Let it go in a forked process: the files and the lock stay the parent's."""
        self.spool.abandon()
        os.close(self.lock)


def default_root(url: str, token: str) -> Path:
    """Return a folder of this user for this server and token: leftovers never go to another project."""
    state = os.environ.get("XDG_STATE_HOME")
    base = Path(state) if state else Path.home() / ".local" / "state"
    whose = hashlib.sha256(f"{url}\n{token}".encode(errors="replace")).hexdigest()[:16]
    return base / "loopscope" / "spool" / whose


def own(root: Path, url: str, producer: str | None, budget: int, *, base: int | None = None) -> Held:
    """Return the folder of a producer, taken up where it stopped, or a new one. Raises OSError."""
    named = producer is not None
    name = producer or str(uuid4())
    held = _claim(root, name)
    if held is None:  # another process is this producer now
        name = f"{name[:190]}-{uuid4().hex[:8]}"
        held = _claim(root, name)
    if held is None:
        raise OSError("the spool's folder cannot be locked")
    folder, lock = held
    state = State.read(folder)
    if state is None:
        state = State(name, url, (base if named else 0), kept=named)
        state.write(folder)
    return Held(Spool(folder, state, budget), lock)


def left_over(root: Path, url: str, budget: int) -> Iterator[Held]:
    """Claim what dead programs left for this server."""
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
        held = Held(Spool(claimed[0], fresh, budget), claimed[1])
        if held.spool.waiting:
            yield held
        else:
            held.close()


def temporary() -> Path:
    """Return a folder for when no other can be written."""
    return Path(tempfile.mkdtemp(prefix="loopscope-spool-"))


def _claim(root: Path, producer: str) -> tuple[Path, int] | None:
    """Lock a producer's folder; None when another process has it."""
    folder = root / hashlib.sha256(producer.encode(errors="replace")).hexdigest()[:24]
    for _ in range(3):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # it was removed in between
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
