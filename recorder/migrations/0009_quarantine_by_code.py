"""Add an index that covers the groups of rejected lines by reason."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0008_future_calls"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="quarantinedline",
            index=models.Index(
                fields=["project", "code", "-id", "producer", "received_at"], name="quarantine_by_code"
            ),
        ),
    ]
