"""The journal changed as nobody may: with the database's rule taken away for a moment."""

from contextlib import contextmanager

from django.db import connection

from recorder import append_only


@contextmanager
def tampering():
    on = f" ON {append_only.JOURNAL}" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {append_only.RULE}{on}")
    yield
    append_only.keep()
