"""Labels of model configs: a colour, a short model name and the parameter that distinguishes the config."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import QuerySet

from dashboard.shared.compiled_query import compiled
from recorder.core.handlers.model_configs import short_model_name
from recorder.models import ModelConfig


@dataclass(frozen=True, slots=True)
class Chip:
    """One config, for dashboard/templates/_shared/_config.html."""

    key: str
    slot: int
    model: str
    parameter: str
    full: str  # the model's whole name and the parameter, for a title

    @property
    def label(self) -> str:
        return " ".join(filter(None, (self.model, self.parameter)))


def chips(configs: Collection[int]) -> Mapping[int, Chip]:
    """Return each config's chip by primary key, in order of first use. One query."""
    return {config.pk: _chip(config) for config in _configs(configs)}


@compiled
def _configs(configs: Collection[int]) -> QuerySet[ModelConfig]:
    named = ModelConfig.objects.filter(pk__in_list=configs).order_by("pk")
    return named.only("key", "slot", "model", "parameter")


def _chip(config: ModelConfig) -> Chip:
    full = " · ".join(filter(None, (config.model, config.parameter)))
    return Chip(config.key, config.slot, short_model_name(config.model), config.parameter, full)
