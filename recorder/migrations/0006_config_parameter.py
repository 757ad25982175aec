"""Store the label of a config, which pages used to compute from all configs of the project."""

from collections import defaultdict

from django.db import migrations, models

from recorder.core import records
from recorder.core.handlers import model_configs


def store_labels(apps, schema_editor):
    """Give each config the label that it had on pages, with part of its key where two had the same."""
    table = apps.get_model("recorder", "ModelConfig").objects.using(schema_editor.connection.alias)
    by_project = defaultdict(list)
    for config in table.order_by("pk").iterator():
        by_project[config.project_id].append(config)
    for configs in by_project.values():
        taken = set()
        named = model_configs.labels(_record(config) for config in configs[: model_configs.COMPARED_MAX])
        for config in configs:
            model = model_configs.short_model_name(config.model)
            label = named.get(config.key)
            parameter = config.key[: model_configs.KEY_SHOWN] if label is None else label.parameter[:200]
            if (model, parameter) in taken:
                parameter = f"{parameter[:150]} {config.key[: model_configs.KEY_SHOWN]}"
            config.parameter = parameter.strip()
            taken.add((model, config.parameter))
        table.bulk_update(configs, ["parameter"], batch_size=500)


def _record(config):
    return records.ModelConfig(
        key=config.key,
        model=config.model,
        provider=config.provider,
        config_id=config.config_id,
        snapshot=config.snapshot,
    )


class Migration(migrations.Migration):
    dependencies = [("recorder", "0005_turn_configs")]

    operations = [
        migrations.AddField(
            "modelconfig",
            "parameter",
            models.CharField(blank=True, default="", max_length=200),
            preserve_default=False,
        ),
        migrations.RunPython(store_labels, migrations.RunPython.noop),
    ]
