"""Startup checks: refuse a database that is damaged, of a newer version, or without durable commits."""

from __future__ import annotations

import errno
import pkgutil
import sqlite3
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from recorder import __version__
from recorder.database import sql
from recorder.database.errors import STORE_ERRORS, as_busy, damage_remedy

CHECK_S = 1.0  # time limit: a large database is checked only in part
UNDEFINED_TABLE = "42P01"  # of PostgreSQL
STEPS = 10_000  # SQLite virtual machine instructions between two checks of the time limit
LEFT_BY_SERVER = ("static", "reserve")  # files and folders beside a database that a server has used
MUST_BE_ON = ("fsync", "full_page_writes", "synchronous_commit")


def damage() -> str | None:
    """Return how to repair a damaged SQLite file, None if no damage was found. Deletes nothing."""
    path = Path(str(connection.settings_dict["NAME"]))
    if connection.vendor != "sqlite" or not path.is_file():
        return None
    deadline = monotonic() + CHECK_S
    try:
        with closing(sqlite3.connect(path)) as database:
            database.set_progress_handler(lambda: monotonic() > deadline, STEPS)
            found = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError:
        return None  # the time limit was reached, or the file is locked: neither is damage
    except sqlite3.DatabaseError as error:
        return damage_remedy(str(error))
    return None if found == "ok" else damage_remedy(" ".join(found.split()))


def loss() -> str | None:
    """Return which PostgreSQL settings allow a commit to be lost in a crash, None if commits are durable."""
    if connection.vendor != "postgresql":
        return None
    off = [name for name in MUST_BE_ON if sql.read("SELECT current_setting(%s)", name)[0][0] == "off"]
    if not off:
        return None
    return (
        f"PostgreSQL runs with {', '.join(off)} off: a crash would lose acknowledged events. Switch it on, "
        "or accept the loss with --accept-loss."
    )


def newer_schema() -> str | None:
    """Return why this version must not use the database: it has migrations that this version lacks.

    None if it may, and also if the database is new or unavailable: the calling command reports that.
    """
    path = Path(str(connection.settings_dict["NAME"]))
    if connection.vendor == "sqlite" and not (path.is_file() and path.stat().st_size):
        return None  # connecting would create it, or delete the write-ahead log of an empty file
    migrations = set(_migrations_of("recorder"))
    try:
        unknown = [name for name in _applied_migrations() if name not in migrations]
    except STORE_ERRORS:
        return None
    if not unknown:
        return None
    return (
        f"This is Loopscope {__version__}; a newer version has migrated the database ({', '.join(unknown)}). "
        "Start that version or a newer one, or restore the backup made before the upgrade."
    )


def has_pending_migrations() -> bool:
    """Return whether the database lacks a migration of this version. Compares names alone.

    Django's own plan imports every migration, which a server would hold in memory as long as it runs.
    """
    applied = set(MigrationRecorder(connection).applied_migrations())
    return any(
        (config.label, name) not in applied
        for config in apps.get_app_configs()
        for name in _migrations_of(config.label)
    )


def lost() -> str | None:
    """Return what to do if the SQLite file is missing or empty in a folder that had one, else None."""
    path = Path(str(connection.settings_dict["NAME"]))
    if connection.vendor != "sqlite" or "memory" in path.name or _has_tables(path):
        return None
    # Beside a file with a header and no table a log is that of a first start which was broken off.
    logs = () if path.is_file() and path.stat().st_size else (f"{path.name}-wal", f"{path.name}-shm")
    left = [name for name in (*logs, *LEFT_BY_SERVER) if (path.parent / name).exists()]
    if not left:
        return None
    return (
        f"There is no database at {path}, but its folder had one: {', '.join(left)} is there. Is a volume "
        "not mounted, or was the file moved or deleted? Put it or a backup in its place and start again. To "
        f"begin with an empty database, add --new-database: {settings.COMMAND} up --new-database"
    )


def not_set_up() -> str | None:
    """Return what to do before the first start, when there is no SQLite file yet; None if there is one."""
    path = Path(str(connection.settings_dict["NAME"]))
    if connection.vendor != "sqlite" or path.is_file() or "memory" in path.name:
        return None
    return f"There is no database yet at {path}. Start Loopscope once: {settings.COMMAND} up"


def unusable(error: Exception) -> str | None:
    """Return in one line why the database or the data folder cannot be used; None if `error` is a bug."""
    text = " ".join(str(error).split())
    if isinstance(error, OSError):
        is_here = error.filename is not None and Path(str(error.filename)).is_relative_to(settings.DATA)
        is_closed = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT)
        return f"The data folder {settings.DATA} cannot be used: {text}" if is_here and is_closed else None
    if not isinstance(error, STORE_ERRORS):
        return None
    if text.startswith("no such table") or getattr(error.__cause__, "sqlstate", "") == UNDEFINED_TABLE:
        return f"The database is not set up yet ({text.split(' LINE ')[0]}). Run: {settings.COMMAND} up"
    if as_busy(error) is None:
        return None
    name = connection.settings_dict["NAME"]
    if "readonly" in text:
        return f"The database {name} cannot be written: make it and its folder writable ({text})."
    return f"The database {name} cannot be used: {text}"


def _has_tables(path: Path) -> bool:
    """Return whether a file is more than an empty database. True if it cannot be read: `damage` says why.

    A file without a byte is not opened: SQLite would delete its write-ahead log.
    """
    if not path.is_file() or not path.stat().st_size:
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            return bool(database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone())
    except sqlite3.Error:
        return True


def _migrations_of(label: str) -> list[str]:
    """Return the names of an app's migrations in this version, without importing them."""
    package, _ = MigrationLoader.migrations_module(label)
    spec = find_spec(package) if package else None
    folders = (spec.submodule_search_locations if spec else None) or []
    modules = pkgutil.iter_modules(folders)
    return [module.name for module in modules if not module.ispkg and module.name[0] not in "_~"]


def _applied_migrations() -> list[str]:
    """Return the names of the applied migrations. Raises STORE_ERRORS at once if the database is away.

    The connection is not of the pool, which would wait five seconds for a server that refuses it.
    """
    with closing(connection.copy()) as direct:
        direct.settings_dict["OPTIONS"] = {
            name: value for name, value in direct.settings_dict["OPTIONS"].items() if name != "pool"
        }
        with direct.cursor() as cursor:
            cursor.execute("SELECT name FROM django_migrations WHERE app = 'recorder' ORDER BY id")
            return [name for (name,) in cursor.fetchall()]
