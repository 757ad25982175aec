import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("recorder", "0037_ledger_gaps")]

    operations = [
        migrations.AddField(
            model_name="openstream",
            name="changed_at",
            field=models.DateTimeField(default=django.utils.timezone.now),
        ),
        migrations.CreateModel(
            name="MaskCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("rule", models.CharField(max_length=40)),
                ("day", models.DateField()),
                ("masked", models.BigIntegerField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.deletion.CASCADE,
                        related_name="+",
                        to="recorder.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "rule", "day"), name="one_mask_count"),
                ],
            },
        ),
    ]
