"""The database trigger that keeps the journal append-only: of a row only `consolidated_at` may be set.

Pruning is the one other permitted update: the body is replaced by its fingerprint and the day is set.
"""

from __future__ import annotations

from typing import Any

from django.db import connections

JOURNAL = "recorder_journalevent"
RULE = "journal_is_append_only"
SAYS = "a line of the journal is never changed"
FIXED = ("id", "project_id", "producer_id", "seq", "kind", "received_at", "size")
BODY = ("own", "pieces", "pruned_on")
FINGERPRINT = 16  # bytes

_COLUMNS = ", ".join(FIXED + BODY)
_STAYS = {"sqlite": "NEW.{0} IS OLD.{0}", "postgresql": "NEW.{0} IS NOT DISTINCT FROM OLD.{0}"}


def _prunes(vendor: str) -> str:
    """Return the SQL condition of an update that removes a body and changes nothing else."""
    taken = ("OLD.pruned_on IS NULL", "NEW.pruned_on IS NOT NULL", "NEW.pieces IS NULL")
    stay = (_STAYS[vendor].format(name) for name in FIXED)
    return " AND ".join((*taken, f"LENGTH(NEW.own) = {FINGERPRINT}", *stay))


_RULES = {
    "sqlite": (
        f"""CREATE TRIGGER {RULE} BEFORE UPDATE OF {_COLUMNS} ON {JOURNAL}
            WHEN NOT ({_prunes("sqlite")}) BEGIN SELECT RAISE(ABORT, '{SAYS}'); END""",
    ),
    "postgresql": (
        f"""CREATE OR REPLACE FUNCTION {RULE}() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION '{SAYS}' USING ERRCODE = 'integrity_constraint_violation'; END $$""",
        f"""CREATE TRIGGER {RULE} BEFORE UPDATE OF {_COLUMNS} ON {JOURNAL} FOR EACH ROW
            WHEN (NOT ({_prunes("postgresql")})) EXECUTE FUNCTION {RULE}()""",
    ),
}
_IS_THERE = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = %s",
    "postgresql": "SELECT 1 FROM pg_trigger WHERE tgname = %s",
}


def keep(using: str = "default", **_: Any) -> None:
    """Create the trigger in a database after its tables were made, unless it exists."""
    connection = connections[using]
    with connection.cursor() as cursor:
        cursor.execute(_IS_THERE[connection.vendor], [RULE])
        if cursor.fetchone() is None:
            for statement in _RULES[connection.vendor]:
                cursor.execute(statement)
