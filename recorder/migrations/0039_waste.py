import django.db.models.deletion
import recorder.models.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0038_mask_counts"),
    ]

    operations = [
        migrations.CreateModel(
            name="WasteRedo",
            fields=[
                ("session", models.BigIntegerField(primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name="WasteState",
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
                ("cursor", models.BigIntegerField(default=0)),
                ("version", models.PositiveIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="Waste",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("session", models.BigIntegerField(db_index=True)),
                ("loop", models.BigIntegerField()),
                ("agent_id", models.CharField(blank=True, max_length=512)),
                (
                    "rule",
                    models.CharField(
                        choices=[
                            ("same_call", "Same call, same result"),
                            ("alternating", "Two calls in turns"),
                            ("same_error", "Same error again"),
                            ("reread", "Unchanged file read again"),
                            ("cut_output", "Output cut at its limit"),
                            ("thrown_away", "Thrown away"),
                        ],
                        max_length=11,
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=200)),
                ("key", models.CharField(max_length=32)),
                ("times", models.PositiveIntegerField()),
                ("first_line", models.BigIntegerField()),
                ("last_line", models.BigIntegerField()),
                ("last_at", models.DateTimeField()),
                ("alarm_line", models.BigIntegerField(null=True)),
                ("alarmed_at", models.DateTimeField(null=True)),
                ("counted_nano", models.BigIntegerField(default=0)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="recorder.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WastedCall",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("session", models.BigIntegerField(db_index=True)),
                ("loop", models.BigIntegerField()),
                ("turn", models.BigIntegerField()),
                ("tool_call", models.BigIntegerField(null=True)),
                ("line", models.BigIntegerField()),
                ("share", models.PositiveIntegerField(default=1)),
                (
                    "waste",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="calls", to="recorder.waste"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WasteLoop",
            fields=[
                ("loop", models.BigIntegerField(primary_key=True, serialize=False)),
                ("session", models.BigIntegerField(db_index=True)),
                ("state", recorder.models.fields.JsonText(null=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="recorder.project",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="waste",
            index=models.Index(fields=["project", "last_at"], name="waste_of_time"),
        ),
        migrations.AddIndex(
            model_name="waste",
            index=models.Index(
                condition=models.Q(("alarm_line__isnull", False)),
                fields=["project", "alarmed_at"],
                name="waste_alarms",
            ),
        ),
        migrations.AddConstraint(
            model_name="waste",
            constraint=models.UniqueConstraint(fields=("loop", "rule", "key"), name="one_waste"),
        ),
        migrations.AddConstraint(
            model_name="wastedcall",
            constraint=models.UniqueConstraint(fields=("turn", "tool_call"), name="one_wasted_call"),
        ),
        migrations.AddConstraint(
            model_name="wastedcall",
            constraint=models.UniqueConstraint(
                condition=models.Q(("tool_call__isnull", True)), fields=("turn",), name="one_wasted_turn"
            ),
        ),
    ]
