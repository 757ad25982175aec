from django.db import migrations

import recorder.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("recorder", "0046_spans_without_a_record"),
    ]

    operations = [
        migrations.AddField(
            model_name="session",
            name="stated",
            field=recorder.models.fields.JsonText(null=True),
        ),
    ]
