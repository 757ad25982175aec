"""The database triggers that keep the journal and the audit log append-only.

Of a line only `consolidated_at` may be set. Three other updates are permitted: pruning replaces the body by
its fingerprint and sets the day; while a session of the project is being deleted, a line that repeats bytes
of it is encoded without it; and while the history of the project is being masked, its lines are masked. No
entry of the audit log is changed. One is deleted only while an `AuditPruning` of its project is open that
deletes what is older, and only when it is older than a year.

`INSERT OR REPLACE` of SQLite deletes a row without its DELETE trigger, so a trigger rejects an entry whose id
exists. Lines have none: it would cost 2 % of the ingest of each, and what may delete lines may replace them.
TRUNCATE of PostgreSQL fires no trigger of a row; triggers of their own reject it for both tables.
"""

from __future__ import annotations

from typing import Any

from django.db import connections

JOURNAL = "recorder_journalevent"
RULE = "journal_is_append_only"
SAYS = "a line of the journal is never changed"
FIXED = ("id", "project_id", "producer_id", "seq", "kind", "received_at", "size", "masked", "original")
MASKED = ("size", "masked", "original")  # of FIXED, what masking changes
BODY = ("own", "pieces", "pruned_on")
FINGERPRINT = 16  # bytes

_COLUMNS = ", ".join(FIXED + BODY)
_STAYS = {"sqlite": "NEW.{0} IS OLD.{0}", "postgresql": "NEW.{0} IS NOT DISTINCT FROM OLD.{0}"}


AUDIT = "recorder_auditentry"
AUDIT_RULE = "audit_is_append_only"
AUDIT_SAYS = "an entry of the audit log is never changed or deleted"
AUDIT_INSERT_RULE = "audit_replaces_nothing"  # SQLite
TRUNCATE_RULE = "journal_is_not_truncated"  # PostgreSQL
TRUNCATE_SAYS = "the journal is not truncated"
AUDIT_TRUNCATE_RULE = "audit_is_not_truncated"  # PostgreSQL
AUDIT_DAYS = 365  # for which no entry is deleted, whatever a project's period


def _prunes(vendor: str) -> str:
    """Return the SQL condition of an update that removes a body and changes nothing else."""
    taken = ("OLD.pruned_on IS NULL", "NEW.pruned_on IS NOT NULL", "NEW.pieces IS NULL")
    stay = (_STAYS[vendor].format(name) for name in FIXED)
    return " AND ".join((*taken, f"LENGTH(NEW.own) = {FINGERPRINT}", *stay))


def _encodes(vendor: str) -> str:
    """Return the SQL condition of an update that encodes a line otherwise while a session is deleted."""
    stay = (_STAYS[vendor].format(name) for name in (*FIXED, "pruned_on"))
    is_deleting = (
        "EXISTS (SELECT 1 FROM recorder_deletion WHERE project_id = OLD.project_id AND finished_at IS NULL)"
    )
    return " AND ".join((*stay, is_deleting))


def _expires(vendor: str) -> str:
    """Return the SQL condition of the deletion of an entry of the audit log by an open pruning run."""
    year_ago = {
        "sqlite": f"strftime('%Y-%m-%d %H:%M:%f', 'now', '-{AUDIT_DAYS} days')",
        "postgresql": f"now() - interval '{AUDIT_DAYS} days'",
    }
    is_same = {"sqlite": "IS", "postgresql": "IS NOT DISTINCT FROM"}
    return f"""OLD.at < {year_ago[vendor]} AND EXISTS (SELECT 1 FROM recorder_auditpruning AS run
            WHERE run.finished_at IS NULL AND OLD.at < run.before
            AND run.project_id {is_same[vendor]} OLD.project_id)"""  # noqa: S608  names


def _masks(vendor: str) -> str:
    """Return the SQL condition of an update that masks a line while the history of its project is masked."""
    stay = (_STAYS[vendor].format(name) for name in (*FIXED, "pruned_on") if name not in MASKED)
    is_masking = (
        "EXISTS (SELECT 1 FROM recorder_maskinghistory "
        "WHERE project_id = OLD.project_id AND finished_at IS NULL)"
    )
    return " AND ".join((*stay, "OLD.pruned_on IS NULL", is_masking))


def _not_truncated(rule: str, table: str, says: str) -> tuple[str, str]:
    """Return the SQL of PostgreSQL by which a table is not truncated."""
    return (
        f"""CREATE OR REPLACE FUNCTION {rule}() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION '{says}' USING ERRCODE = 'integrity_constraint_violation'; END $$""",
        f"""CREATE TRIGGER {rule} BEFORE TRUNCATE ON {table} FOR EACH STATEMENT
            EXECUTE FUNCTION {rule}()""",
    )


_RULES = {
    ("sqlite", RULE): (
        f"""CREATE TRIGGER {RULE} BEFORE UPDATE OF {_COLUMNS} ON {JOURNAL}
            WHEN NOT ({_prunes("sqlite")}) AND NOT ({_encodes("sqlite")}) AND NOT ({_masks("sqlite")})
            BEGIN SELECT RAISE(ABORT, '{SAYS}'); END""",
    ),
    ("postgresql", RULE): (
        f"""CREATE OR REPLACE FUNCTION {RULE}() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN IF {_encodes("postgresql")} THEN RETURN NEW; END IF;
            IF {_masks("postgresql")} THEN RETURN NEW; END IF;
            RAISE EXCEPTION '{SAYS}' USING ERRCODE = 'integrity_constraint_violation'; END $$""",
        f"""CREATE TRIGGER {RULE} BEFORE UPDATE OF {_COLUMNS} ON {JOURNAL} FOR EACH ROW
            WHEN (NOT ({_prunes("postgresql")})) EXECUTE FUNCTION {RULE}()""",
    ),
    ("sqlite", AUDIT_RULE): (
        f"""CREATE TRIGGER {AUDIT_RULE} BEFORE UPDATE ON {AUDIT}
            BEGIN SELECT RAISE(ABORT, '{AUDIT_SAYS}'); END""",
        f"""CREATE TRIGGER {AUDIT_RULE}_for_good BEFORE DELETE ON {AUDIT}
            WHEN NOT ({_expires("sqlite")})
            BEGIN SELECT RAISE(ABORT, '{AUDIT_SAYS}'); END""",
    ),
    ("postgresql", AUDIT_RULE): (
        f"""CREATE OR REPLACE FUNCTION {AUDIT_RULE}() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN IF TG_OP = 'DELETE' AND {_expires("postgresql")} THEN RETURN OLD; END IF;
            RAISE EXCEPTION '{AUDIT_SAYS}'
            USING ERRCODE = 'integrity_constraint_violation'; END $$""",
        f"""CREATE TRIGGER {AUDIT_RULE} BEFORE UPDATE OR DELETE ON {AUDIT} FOR EACH ROW
            EXECUTE FUNCTION {AUDIT_RULE}()""",
    ),
    ("sqlite", AUDIT_INSERT_RULE): (
        f"""CREATE TRIGGER {AUDIT_INSERT_RULE} BEFORE INSERT ON {AUDIT}
            WHEN EXISTS (SELECT 1 FROM {AUDIT} WHERE id = NEW.id)
            BEGIN SELECT RAISE(ABORT, '{AUDIT_SAYS}'); END""",  # noqa: S608  names
    ),
    ("postgresql", TRUNCATE_RULE): _not_truncated(TRUNCATE_RULE, JOURNAL, TRUNCATE_SAYS),
    ("postgresql", AUDIT_TRUNCATE_RULE): _not_truncated(AUDIT_TRUNCATE_RULE, AUDIT, AUDIT_SAYS),
}
_IS_THERE = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = %s",
    "postgresql": "SELECT 1 FROM pg_trigger WHERE tgname = %s",
}


def keep(using: str = "default", **_: Any) -> None:
    """Create the triggers in a database after its tables were made, unless they exist."""
    connection = connections[using]
    with connection.cursor() as cursor:
        for (vendor, rule), statements in _RULES.items():
            if vendor != connection.vendor:
                continue
            cursor.execute(_IS_THERE[vendor], [rule])
            if cursor.fetchone() is None:
                for statement in statements:
                    cursor.execute(statement)


def release_audit(vendor: str) -> tuple[str, ...]:
    """Return the SQL that removes the rule of the audit log; `keep` creates it again."""
    if vendor == "postgresql":
        return (f"DROP TRIGGER IF EXISTS {AUDIT_RULE} ON {AUDIT}",)
    return f"DROP TRIGGER IF EXISTS {AUDIT_RULE}", f"DROP TRIGGER IF EXISTS {AUDIT_RULE}_for_good"
