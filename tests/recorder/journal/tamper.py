"""Changes of the journal with its triggers dropped for a moment."""

from contextlib import contextmanager

from django.db import connection

from recorder.journal import immutability


@contextmanager
def tampering():
    on = f" ON {immutability.JOURNAL}" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {immutability.RULE}{on}")
    yield
    immutability.keep()
