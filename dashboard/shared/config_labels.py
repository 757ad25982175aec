"""Labels of model configs: a colour, a short model name and the parameter that distinguishes the config."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from django.db.models import Case, F, IntegerField, Q, QuerySet, Value, When, Window
from django.db.models.functions import RowNumber

from dashboard.shared.compiled_query import compiled
from recorder.core import records
from recorder.core.handlers.model_configs import Label, labels, short_model_name
from recorder.models import ModelConfig

LABELLED_MAX = 100  # first configs of a project that are compared with each other: the cost is quadratic


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
    """Return each config's chip, in one query. The same config has the same label on every page."""
    projects: dict[int, list[ModelConfig]] = {}
    for config in _members(configs):
        projects.setdefault(config.project_id, []).append(config)
    return {pk: chip for members in projects.values() for pk, chip in _named(members)}


@compiled
def _members(configs: Collection[int]) -> QuerySet[ModelConfig]:
    wanted = ModelConfig.objects.filter(pk__in_list=configs)
    place = Window(RowNumber(), partition_by="project", order_by=F("pk").asc())
    is_wanted = Case(When(pk__in_list=configs, then=Value(1)), default=Value(0), output_field=IntegerField())
    placed = ModelConfig.objects.filter(project__in=wanted.values("project"))
    placed = placed.annotate(place=place, is_wanted=is_wanted)
    return placed.filter(Q(place__lte=LABELLED_MAX) | Q(is_wanted=1)).order_by("pk")


def _named(configs: list[ModelConfig]) -> Iterator[tuple[int, Chip]]:
    named = labels(_record(config) for config in configs[:LABELLED_MAX])
    for config in configs:
        yield (
            config.pk,
            _chip(config, named.get(config.key) or Label(short_model_name(config.model), config.key[:6])),
        )


def _record(config: ModelConfig) -> records.ModelConfig:
    return records.ModelConfig(
        key=config.key,
        model=config.model,
        provider=config.provider,
        config_id=config.config_id,
        snapshot=config.snapshot,
    )


def _chip(config: ModelConfig, label: Label) -> Chip:
    full = " · ".join(filter(None, (config.model, label.parameter)))
    return Chip(config.key, config.slot, label.model_short, label.parameter, full)
