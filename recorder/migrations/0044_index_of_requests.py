from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0043_append_only_against_replace"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="ledgersum",
            index=models.Index(
                condition=models.Q(("kind", "request")),
                fields=["project", "day", "name", "session", "kind"],
                name="ledger_sums_requests",
            ),
        ),
    ]
