"""Write the files of a release for the upgrade tests; run it before the tag, never for an old version.

    DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres python -m tests.upgrade.make

It writes the hashes of the migrations, and a folder for the version with the same small database twice: as a
SQLite file and as a PostgreSQL dump in plain SQL, each with a description that tests compare.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from recorder import __version__
from tests.upgrade.databases import DESCRIPTIONS, FILES, FOLDER, HASHES, MIGRATIONS, Copy, empty

# Lines of pg_dump that only psql understands, or that a server of another version does not.
NOT_SQL = re.compile(rb"^(?:\\(?:un)?restrict \w+|SET transaction_timeout .*)\n", re.M)


def main() -> None:
    """Write all files, and print their sizes."""
    url = os.environ.get("DATABASE_URL")
    if not url:
        sys.exit("Name a PostgreSQL server whose pg_dump is on the PATH: DATABASE_URL=postgres://…/postgres")
    version = FOLDER / __version__
    version.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _keep(version, "sqlite", Copy(folder), lambda: _sqlite(folder))
    with tempfile.TemporaryDirectory() as name, empty(url) as made:
        _keep(version, "postgresql", Copy(Path(name), made), lambda: _postgres(made))
    HASHES.write_text(json.dumps(migration_hashes(), indent=2) + "\n")
    for path in sorted(version.iterdir()):
        print(f"{path.relative_to(FOLDER)}: {path.stat().st_size:,} bytes")  # noqa: T201


def migration_hashes() -> dict[str, str]:
    """Return the SHA-256 of each migration file, by its name."""
    return {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(MIGRATIONS.glob("0*.py"))
    }


def _keep(version: Path, vendor: str, copy: Copy, dump) -> None:
    copy.manage("migrate", "--no-input", "--verbosity", "0")
    copy.step("fill")
    found = copy.step("describe")
    (version / FILES[vendor]).write_bytes(gzip.compress(dump(), mtime=0))
    (version / DESCRIPTIONS[vendor]).write_bytes(gzip.compress(json.dumps(found, indent=1).encode(), mtime=0))


def _sqlite(folder: Path) -> bytes:
    snapshot = folder / "snapshot"
    with closing(sqlite3.connect(folder / "loopscope.sqlite3")) as base:
        base.execute("VACUUM INTO ?", [str(snapshot)])
    return snapshot.read_bytes()


def _postgres(url: str) -> bytes:
    words = ["pg_dump", "--inserts", "--rows-per-insert=500", "--no-owner", "--no-privileges", url]
    return NOT_SQL.sub(b"", subprocess.run(words, capture_output=True, check=True).stdout)


if __name__ == "__main__":
    main()
