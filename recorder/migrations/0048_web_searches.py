from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0047_stated_costs"),
    ]

    operations = [
        migrations.AddField(
            model_name="turn",
            name="web_searches",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
    ]
