"""Model configs: what makes two the same, and a short name that tells them apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from recorder.core.content import messages
from recorder.core.content.messages import Answer
from recorder.core.content.text import clean, format_token_count
from recorder.core.context import EventContext
from recorder.core.records import Json, Loop, ModelConfig

_SLOTS = 16  # colours
_NOT_SETTINGS = ("model", "provider", "config_id", "name")
_DISTINGUISHING = (
    "thinking_level",
    "temperature",
    "reasoning",
    "context_window",
    "max_tokens",
    "provider",
    "api",
)
_WORDS = {"thinking_level": "thinking", "context_window": "context", "max_tokens": "max output"}
_SIZES = ("context_window", "max_tokens")
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Label:
    """What a config is called on screen: its model, and the one parameter that sets it apart."""

    model_short: str
    parameter: str

    def __str__(self) -> str:
        return f"{self.model_short} {self.parameter}".rstrip()


def config_key(snapshot: Json) -> str:
    """Return the same key for the same settings, in whatever order; unset and null are the same."""
    given = {k: v for k, v in snapshot.items() if v is not None} if isinstance(snapshot, dict) else snapshot
    return _hash(_CANONICAL.encode(given))


@lru_cache(maxsize=1024)  # the answers of a loop name the same one again and again
def _hash(canonical: str) -> str:
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def inferred_snapshot(answer: Answer, loop_id: str) -> Json:
    """Guess the config of a loop that named none, as phi-core does: from its first answer and its id."""
    first, last = loop_id.find("."), loop_id.rfind(".")
    config_id = loop_id[first + 1 : last] if 0 <= first < last else None
    return {"model": answer.model, "provider": answer.provider, "config_id": config_id}


def infer_config(context: EventContext, loop: Loop, answer: Answer) -> None:
    """Take the config of a loop that named none from its first answer."""
    if loop.config is None:
        loop.config = find_or_add(context, inferred_snapshot(answer, loop.loop_id))
        loop.config_inferred = True


def find_or_add(context: EventContext, snapshot: Json) -> ModelConfig:
    """Return the config with these settings, which may be a new one of the project."""
    key = config_key(snapshot)
    config = context.state.configs.get(key)
    if config is None:
        given = snapshot if isinstance(snapshot, dict) else {}
        config = ModelConfig(
            key=key,
            model=clean(messages.text_field(given, "model"), 512),
            provider=clean(messages.text_field(given, "provider"), 512),
            config_id=clean(messages.text_field(given, "config_id"), 512),
            snapshot=snapshot,
            slot=context.state.config_count % _SLOTS + 1,
        )
        context.add(config)
    return config


def labels(configs: Iterable[ModelConfig]) -> dict[str, Label]:
    """Name each config by its model; those of one model also by the parameter they differ in."""
    by_model: dict[str, list[ModelConfig]] = {}
    for config in configs:
        by_model.setdefault(short_model_name(config.model), []).append(config)
    return {
        config.key: Label(model, _parameter(config, alike))
        for model, alike in by_model.items()
        for config in alike
    }


def short_model_name(model: str) -> str:
    """Return a model's name without the path before it."""
    return model.rsplit("/", 1)[-1]


def _parameter(config: ModelConfig, alike: list[ModelConfig]) -> str:
    if len(alike) == 1:
        return ""
    mine, others = _settings(config), [_settings(other) for other in alike if other is not config]
    if mine in others and (name := _own_name(config)):
        return name  # another has these very settings
    if mine.keys() <= {"provider"} and all(mine.items() <= other.items() for other in others):
        return _own_name(config)  # it states nothing, so nothing that it states sets it apart
    differing = [name for name in _names(mine, others) if any(mine.get(name) != o.get(name) for o in others)]
    for name in differing:
        if all(mine.get(name) != other.get(name) for other in others):
            return _format_setting(name, mine.get(name))
    if differing:
        return ", ".join(_format_setting(name, mine.get(name)) for name in differing[:2])
    return _label_by_id(config, alike)


def _label_by_id(config: ModelConfig, alike: list[ModelConfig]) -> str:
    """Tell configs of the same settings apart by their ids; a plain one that is alone needs no more."""
    if name := _own_name(config):
        return name
    plain = [
        other for other in alike if not _own_name(other) and bool(other.config_id) == bool(config.config_id)
    ]
    if len(plain) > 1:
        return config.key[:6]
    return "" if config.config_id else "no config id"


def _own_name(config: ModelConfig) -> str:
    """Return what a config id says beyond its provider and model, which are shown anyway."""
    said = config.config_id.removeprefix(f"{config.provider}.").removeprefix(config.model)
    return said.strip(".")


def _names(mine: Mapping[str, Json], others: list[dict[str, Json]]) -> list[str]:
    """Return all settings, those that people tell configs apart by first."""
    every = set(mine).union(*others)
    return [name for name in _DISTINGUISHING if name in every] + sorted(every.difference(_DISTINGUISHING))


def _settings(config: ModelConfig) -> dict[str, Json]:
    given = config.snapshot if isinstance(config.snapshot, dict) else {}
    settings = {k: v for k, v in given.items() if k not in _NOT_SETTINGS and v is not None}
    return {**settings, "provider": config.provider}


def _format_setting(name: str, value: Json) -> str:
    if name in ("provider", "api") and isinstance(value, str):
        return value
    words = _WORDS.get(name, name.replace("_", " "))
    if value is None:
        return f"no {words}"
    return f"{words} {format_value(name, value)}"


def format_value(name: str, value: Json) -> str:
    """Return a setting's value in words: sizes as tokens, switches as on and off."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if name in _SIZES and isinstance(value, int):
        return format_token_count(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
