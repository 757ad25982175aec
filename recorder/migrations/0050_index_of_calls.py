from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0049_index_of_ends"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="callfigures",
            index=models.Index(
                condition=models.Q(("is_report", False)),
                fields=["project", "loop_id"],
                name="calls_by_loop",
            ),
        ),
    ]
