from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0048_web_searches"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="looprecord",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", False)),
                fields=["session", "-ended_at"],
                name="loop_ends",
            ),
        ),
    ]
