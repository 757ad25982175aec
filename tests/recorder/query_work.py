"""Counts what queries read, as a measure of the database's work that does not depend on the machine."""

from django.db import connection

# Small tables get these plans though an index serves. Sorting stays: without it, PostgreSQL reads all of a
# table in the order of its primary key rather than sort the few rows that an index finds.
_PLANS_OF_SMALL_TABLES = ("enable_seqscan", "enable_bitmapscan")
_READ = "SELECT SUM(seq_tup_read) + SUM(COALESCE(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables"


def query_work(function):
    """Return the steps of SQLite's machine, or the rows that PostgreSQL reads, while `function` runs.

    On PostgreSQL call it in a transaction.
    """
    return _steps_of_sqlite(function) if connection.vendor == "sqlite" else _rows_of_postgresql(function)


def _steps_of_sqlite(function):
    steps = 0

    def count():
        nonlocal steps
        steps += 1

    connection.ensure_connection()
    connection.connection.set_progress_handler(count, 1)
    try:
        function()
    finally:
        connection.connection.set_progress_handler(None, 0)
    return steps


def _rows_of_postgresql(function):
    with connection.cursor() as cursor:
        for name in _PLANS_OF_SMALL_TABLES:
            cursor.execute(f"SET LOCAL {name} = off")
        _analyze(cursor)
        cursor.execute(_READ)
        (before,) = cursor.fetchone()
        function()
        cursor.execute(_READ)
        (after,) = cursor.fetchone()
    return int(after - before)


def _analyze(cursor):
    """Gather statistics, as autovacuum does: without them a table is taken for ten pages.

    Not of the catalogs: some are those of all databases, and stay locked until the transaction ends, so two
    tests that run at once would wait for each other.
    """
    cursor.execute(
        "SELECT STRING_AGG(QUOTE_IDENT(tablename), ', ') FROM pg_tables WHERE schemaname = 'public'"
    )
    (tables,) = cursor.fetchone()
    cursor.execute(f"ANALYZE {tables}")
