import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0030_masked_records"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="record_days",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="project",
            name="note_days",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="project",
            name="archived_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="searchstate",
            name="has_deleted",
            field=models.BooleanField(default=False),
        ),
        migrations.CreateModel(
            name="ProjectDeletion",
            fields=[
                (
                    "project",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="recorder.project",
                    ),
                ),
                ("slug", models.CharField(max_length=64)),
                ("requested_by", models.CharField(blank=True, max_length=200)),
                ("user", models.BigIntegerField(null=True)),
                ("requested_at", models.DateTimeField()),
                ("sessions", models.BigIntegerField(default=0)),
                ("lines", models.BigIntegerField(default=0)),
                ("deleted", models.BigIntegerField(default=0)),
                ("rows", models.BigIntegerField(default=0)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
        ),
    ]
