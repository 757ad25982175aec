"""Databases of released versions: their files, and copies that the current code may migrate."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

import psycopg

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
MIGRATIONS = ROOT / "recorder" / "migrations"
HASHES = FOLDER / "migrations.json"
FILES = {"sqlite": "loopscope.sqlite3.gz", "postgresql": "loopscope.sql.gz"}
DESCRIPTIONS = {"sqlite": "sqlite.json.gz", "postgresql": "postgresql.json.gz"}
KEPT_BACK = re.compile(r"LOOPSCOPE_.*|DJANGO_SETTINGS_MODULE|DATABASE_URL|REDIS_URL")
# Only the result goes to stdout.
STEP = """
import contextlib, json, sys, django
django.setup()
from tests.upgrade.steps import STEPS
with contextlib.redirect_stdout(sys.stderr):
    found = STEPS[sys.argv[1]]()
print(json.dumps(found))
"""


class Copy:
    """A database of one test, and processes that use it with the real settings."""

    def __init__(self, folder: Path, url: str = "") -> None:
        self._environment = {
            name: value for name, value in os.environ.items() if not KEPT_BACK.fullmatch(name)
        }
        self._environment |= {"LOOPSCOPE_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
        if url:
            self._environment["DATABASE_URL"] = url

    def manage(self, *words: str) -> str:
        return self._run("manage.py", *words)

    def step(self, name: str):
        """Run a step of `steps.py`; return its result."""
        return json.loads(self._run("-c", STEP, name))

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=ROOT,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout


@contextmanager
def empty(url: str) -> Iterator[str]:
    """Create a PostgreSQL database on the server of `url`; yield its address, drop it in the end."""
    name = f"upgrade_loopscope_{token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        try:
            yield f"{url.rsplit('/', 1)[0]}/{name}"
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def restored(version: Path, folder: Path, postgres: str) -> Iterator[Copy]:
    """Yield a copy of the database of `version`: in `folder`, or on the PostgreSQL server of `postgres`."""
    if not postgres:
        (folder / "loopscope.sqlite3").write_bytes(gzip.decompress((version / FILES["sqlite"]).read_bytes()))
        yield Copy(folder)
        return
    with empty(postgres) as url:
        with psycopg.connect(url, autocommit=True) as base:
            base.execute(gzip.decompress((version / FILES["postgresql"]).read_bytes()))
        yield Copy(folder, url)


def description(version: Path, vendor: str):
    """Return the description of a version's database, with its counts of rows by table."""
    described = json.loads(gzip.decompress((version / DESCRIPTIONS[vendor]).read_bytes()))
    # Version 0.2.0 counted by model: a model may be renamed, its table stays.
    described["rows"] = {name.replace(".", "_").lower(): n for name, n in described["rows"].items()}
    return described
