import django.db.models.deletion
from django.db import migrations, models


def renew_rule(apps, schema_editor):
    """Remove the triggers of the audit log; `recorder.journal.immutability` creates today's after migrating."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TRIGGER IF EXISTS audit_is_append_only ON recorder_auditentry")
        return
    schema_editor.execute("DROP TRIGGER IF EXISTS audit_is_append_only")
    schema_editor.execute("DROP TRIGGER IF EXISTS audit_is_append_only_for_good")


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0025_share_links"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="audit_days",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.CreateModel(
            name="AuditPruning",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("before", models.DateTimeField()),
                ("entries", models.BigIntegerField(default=0)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "project",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="recorder.project",
                    ),
                ),
            ],
        ),
        migrations.RunPython(renew_rule, renew_rule),
    ]
