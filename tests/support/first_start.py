"""What a first start leaves behind, made once for the servers of a test run: it takes seconds.

A run names a folder for it by `LOOPSCOPE_TESTS_SHARED`; without one, as under a benchmark, nothing is kept.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

SHARED = "LOOPSCOPE_TESTS_SHARED"
DATABASE = "loopscope.sqlite3"


def begun(begin: Callable[[Path], str]) -> Path | None:
    """Return the folder of a server that has started once, its token in a file; `begin` makes both, once."""
    if SHARED not in os.environ:
        return None
    folder = Path(os.environ[SHARED]) / "begun"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "token").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / "token").write_text(begin(folder))
    return folder


def lay(begun: Path, folder: Path, *, is_sqlite: bool) -> str:
    """Copy what is there to a new server; return its token, "" when its database is another."""
    shutil.copytree(begun / "static", folder / "static")
    if not is_sqlite:
        return ""
    shutil.copyfile(begun / DATABASE, folder / DATABASE)
    return (begun / "token").read_text()
