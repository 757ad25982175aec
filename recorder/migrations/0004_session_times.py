"""Add the arrival time of a session's latest line, and correct `last_event_at`, which used to hold it.

`last_event_at` becomes what `recorder.core.handlers.sessions` computes: the latest time on the lines from the
first start of a loop on, each at most its own arrival. A session without a loop goes by all its lines.
"""

from datetime import UTC, datetime

from django.db import migrations, models

RECEIVED = "UPDATE recorder_session SET last_received_at = last_event_at"
HAPPENED = """
UPDATE recorder_session SET last_event_at = found.happened_at FROM (
    SELECT e.session_id, MAX(
        CASE WHEN e.occurred_at IS NULL OR e.occurred_at > j.received_at THEN j.received_at
        ELSE e.occurred_at END
    ) AS happened_at
    FROM recorder_eventrecord e
    JOIN recorder_journalevent j ON j.id = e.id
    LEFT JOIN (
        SELECT session_id, MIN(start_event) AS first_start FROM recorder_looprecord GROUP BY session_id
    ) l ON l.session_id = e.session_id
    WHERE l.first_start IS NULL OR (e.occurred_at IS NOT NULL AND e.id >= l.first_start)
    GROUP BY e.session_id
) AS found WHERE found.session_id = recorder_session.id
"""


class Migration(migrations.Migration):
    dependencies = [("recorder", "0003_rename_read_mark")]

    operations = [
        migrations.AddField(
            "session",
            "last_received_at",
            models.DateTimeField(default=datetime(1970, 1, 1, tzinfo=UTC)),
            preserve_default=False,
        ),
        migrations.RunSQL(RECEIVED, migrations.RunSQL.noop),
        migrations.RunSQL(HAPPENED, migrations.RunSQL.noop),
    ]
