"""Add the arrival of calls, loops and groups that are dated in the future; a rebuild sets it in what was recorded."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0007_session_unfinished"),
    ]

    operations = [
        migrations.AddField(
            model_name="looprecord",
            name="ended_received_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="parallelgrouprecord",
            name="ended_received_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="parallelgrouprecord",
            name="started_received_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="turn",
            name="ended_received_at",
            field=models.DateTimeField(null=True),
        ),
    ]
