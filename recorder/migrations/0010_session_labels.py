"""Store tags and metadata of sessions, with an index to find sessions by them."""

import django.db.models.deletion
from django.db import migrations, models

import recorder.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0009_quarantine_by_code"),
    ]

    operations = [
        migrations.AddField(
            model_name="session",
            name="metadata",
            field=recorder.models.fields.JsonText(null=True),
        ),
        migrations.AddField(
            model_name="session",
            name="tags",
            field=recorder.models.fields.JsonText(null=True),
        ),
        migrations.CreateModel(
            name="SessionLabel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=209)),
                ("value", models.CharField(max_length=200)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="recorder.project",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="recorder.session"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["project", "name", "value", "session"], name="session_label")
                ],
            },
        ),
    ]
