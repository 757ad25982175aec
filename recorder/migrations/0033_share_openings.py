from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("recorder", "0032_token_address_and_profile")]

    operations = [
        migrations.CreateModel(
            name="ShareOpening",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("who", models.CharField(max_length=200)),
                ("at", models.DateTimeField()),
                (
                    "link",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.deletion.CASCADE,
                        related_name="+",
                        to="recorder.sharelink",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("link", "who"), name="opening_noted_once"),
                ],
            },
        ),
    ]
