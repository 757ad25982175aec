"""Labels of model configs, and the configs and agents of loops.

The label of a config is a colour, a short model name and the parameter that distinguishes it. Runtimes change
the model or the agent inside a loop (hand-off, fallback, changed settings): `has_switched` marks such loops.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Min, QuerySet

from dashboard.shared.compiled_query import compiled
from recorder.core.handlers.model_configs import short_model_name
from recorder.models import LoopRecord, ModelConfig, Turn

OF_LOOP = ("agent_id", "agent_label", "config_id", "has_switched")  # the columns that `answered_by` reads


@dataclass(frozen=True, slots=True)
class Chip:
    """One config, for templates/_shared/_config.html."""

    key: str
    slot: int
    model: str
    parameter: str
    full: str  # the model's whole name and the parameter, for a title

    @property
    def label(self) -> str:
        return " ".join(filter(None, (self.model, self.parameter)))


@dataclass(frozen=True, slots=True)
class AnsweredBy:
    """The configs (primary keys) and the agents of a loop: those of its start, then in order of answers."""

    configs: Sequence[int]
    agents: Sequence[str]

    def chips(self, named: Mapping[int, Chip]) -> Sequence[Chip]:
        """Return the chips of its configs, as far as they are named."""
        return tuple(named[pk] for pk in self.configs if pk in named)


NO_ANSWER = AnsweredBy((), ())


def chips(configs: Collection[int]) -> Mapping[int, Chip]:
    """Return each config's chip by primary key, in order of first use. One query."""
    return {config.pk: chip(config) for config in _configs(configs)}


def answered_by(loops: Collection[LoopRecord]) -> Mapping[int, AnsweredBy]:
    """Return who answered the turns of each loop. No query, one if a loop had several configs or agents."""
    configs = {loop.pk: {loop.config_id: None} if loop.config_id else {} for loop in loops}
    agents = {loop.pk: {loop.agent_id: None} for loop in loops}
    for loop, config, agent, _ in _changes([loop.pk for loop in loops if loop.has_switched]):
        if config is not None:
            configs[loop].setdefault(config)
        agents[loop].setdefault(agent or next(iter(agents[loop])))
    for loop in loops:
        agents[loop.pk].setdefault(loop.agent_label)  # the agent took over and has not answered yet
    return {pk: AnsweredBy(tuple(used), tuple(filter(None, agents[pk]))) for pk, used in configs.items()}


def chips_of(answered: Mapping[int, AnsweredBy]) -> Mapping[int, Chip]:
    """Return the chips of all configs of some loops by primary key. One query."""
    return chips({config for of_loop in answered.values() for config in of_loop.configs})


def chip(config: ModelConfig) -> Chip:
    """Return the chip of a config."""
    full = " · ".join(filter(None, (config.model, config.parameter)))
    return Chip(config.key, config.slot, short_model_name(config.model), config.parameter, full)


@compiled
def _configs(configs: Collection[int]) -> QuerySet[ModelConfig]:
    named = ModelConfig.objects.filter(pk__in_list=configs).order_by("pk")
    return named.only("key", "slot", "model", "parameter")


@compiled
def _changes(loops: Collection[int]) -> QuerySet[Turn, tuple[Any, ...]]:
    """Query each pair of config and agent of loops, in order of its first turn."""
    ended = Turn.objects.filter(loop__in_list=loops, state="done").order_by()
    pairs = ended.values("loop_id", "config_id", "agent_id").annotate(first=Min("ordinal"))
    return pairs.order_by("loop_id", "first").values_list("loop_id", "config_id", "agent_id", "first")
