"""A run of `mask --history` counts the records that it masked in place."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0029_open_streams"),
    ]

    operations = [
        migrations.AddField(
            model_name="maskinghistory",
            name="records",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
    ]
