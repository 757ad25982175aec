"""Rename a model and a field. The table and the column keep the former names: no statement runs."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("recorder", "0002_rename_fields"),
    ]

    operations = [
        migrations.AlterModelTable("seen", "recorder_seen"),
        migrations.RenameModel("Seen", "ReadMark"),
        migrations.AlterField(
            "repricing", "looked_at", models.BigIntegerField(db_column="looked_at", default=0)
        ),
        migrations.RenameField("repricing", "looked_at", "processed"),
    ]
