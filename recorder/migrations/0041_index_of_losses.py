from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0040_waste_read_marks"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="ledgersum", name="ledger_sums_lost"),
        migrations.AddIndex(
            model_name="ledgersum",
            index=models.Index(
                condition=models.Q(("kind", "miss"), ("tokens__gt", 0)),
                fields=["project", "day", "session", "name", "kind", "blocks", "tokens", "cost_nano"],
                name="ledger_sums_losses",
            ),
        ),
    ]
