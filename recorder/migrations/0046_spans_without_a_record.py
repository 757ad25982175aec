from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0045_waiting_spans_set_aside"),
    ]

    operations = [
        migrations.AddField(
            model_name="spanunit",
            name="unrecorded_names",
            field=models.CharField(blank=True, db_default="", default="", max_length=4000),
        ),
        migrations.AddField(
            model_name="spanunit",
            name="unrecorded_sender",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            model_name="spanunit",
            name="unrecorded_spans",
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name="spanunit",
            name="unrecorded_token",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddIndex(
            model_name="spanunit",
            index=models.Index(
                condition=models.Q(("unrecorded_spans__isnull", False)),
                fields=[
                    "project",
                    "last_received_at",
                    "unrecorded_token",
                    "unrecorded_sender",
                    "unrecorded_spans",
                ],
                name="units_without_a_loop",
            ),
        ),
    ]
