from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0034_block_ledger"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="ledgersum",
            index=models.Index(
                condition=models.Q(("kind", "miss"), ("tokens__gt", 0)),
                fields=["project", "day", "session", "name", "calls", "tokens", "cost_nano"],
                name="ledger_sums_lost",
            ),
        ),
    ]
