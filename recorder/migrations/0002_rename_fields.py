"""Rename fields. Their columns keep the former names, so that no statement runs on the database."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("recorder", "0001_initial")]

    operations = [
        migrations.AlterField("turn", "said", models.CharField(blank=True, db_column="said", max_length=200)),
        migrations.RenameField("turn", "said", "answer"),
        migrations.AlterField(
            "turn", "said_key", models.CharField(blank=True, db_column="said_key", max_length=16)
        ),
        migrations.RenameField("turn", "said_key", "answer_key"),
        migrations.AlterField("insight", "said", models.TextField(blank=True, db_column="said")),
        migrations.RenameField("insight", "said", "statement"),
        migrations.AlterField(
            "dailyjob", "said", models.CharField(blank=True, db_column="said", max_length=500)
        ),
        migrations.RenameField("dailyjob", "said", "output"),
        migrations.AlterField("dailyjob", "asked_at", models.DateTimeField(db_column="asked_at", null=True)),
        migrations.RenameField("dailyjob", "asked_at", "requested_at"),
    ]
