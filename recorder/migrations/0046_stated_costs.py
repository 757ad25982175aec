from django.db import migrations

import recorder.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0045_waiting_spans_set_aside"),
    ]

    operations = [
        migrations.AddField(
            model_name="session",
            name="stated",
            field=recorder.models.fields.JsonText(null=True),
        ),
    ]
