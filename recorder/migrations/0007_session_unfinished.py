"""Index the unfinished sessions by their last sign of life: live and stale ones."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0006_config_parameter"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                condition=models.Q(
                    models.Func(
                        models.F("status"),
                        models.F("waiting"),
                        arg_joiner=" IN ('pending', 'running') OR ",
                        output_field=models.BooleanField(),
                        template="(%(expressions)s > 0)",
                    )
                ),
                fields=["project", "-last_event_at", "-id"],
                name="session_unfinished",
            ),
        ),
    ]
