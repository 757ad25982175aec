"""Files of a first start, made once for all servers of a test run, because that takes seconds.

`LOOPSCOPE_TESTS_SHARED` names their folder; without it, as in a benchmark, each server starts from nothing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

SHARED = "LOOPSCOPE_TESTS_SHARED"
DATABASE = "loopscope.sqlite3"


def started_folder(begin: Callable[[Path], str]) -> Path | None:
    """Return the folder of a server that has started once, its token in a file; `begin` makes both, once.

    It is made under another name, so that what a failed start has left is in nobody's way.
    """
    if SHARED not in os.environ:
        return None
    shared = Path(os.environ[SHARED])
    folder = shared / "started"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            being_made = Path(tempfile.mkdtemp(dir=shared, prefix="starting-"))
            (being_made / "token").write_text(begin(being_made))
            being_made.rename(folder)
    return folder


def copy_start(started: Path, folder: Path, *, is_sqlite: bool) -> str:
    """Copy the files to a new server's folder; return its token, "" when it has another database."""
    shutil.copytree(started / "static", folder / "static")
    if not is_sqlite:
        return ""
    shutil.copyfile(started / DATABASE, folder / DATABASE)
    return (started / "token").read_text()
