"""Calls that the block ledger could not take."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0035_index_of_lost_tokens"),
    ]

    operations = [
        migrations.CreateModel(
            name="LedgerGap",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("session", models.BigIntegerField(db_index=True)),
                ("loop", models.BigIntegerField()),
                ("turn", models.BigIntegerField(unique=True)),
                ("end_event", models.BigIntegerField()),
                ("error", models.CharField(blank=True, max_length=200)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="recorder.project"
                    ),
                ),
            ],
        ),
    ]
