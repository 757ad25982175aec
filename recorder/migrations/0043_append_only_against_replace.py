from django.db import migrations


class Migration(migrations.Migration):
    """Changes nothing itself: after migrating, `recorder.journal.immutability` creates the triggers that are missing.

    They reject INSERT OR REPLACE into the audit log on SQLite, and TRUNCATE of journal and log on PostgreSQL.
    """

    dependencies = [
        ("recorder", "0042_note_revisions"),
    ]

    operations: list[migrations.operations.base.Operation] = []
