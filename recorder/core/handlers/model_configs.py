"""Model configs: identity by settings, and short labels that distinguish them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from recorder.core.content import messages
from recorder.core.content.messages import Answer
from recorder.core.content.text import clean, excerpt, format_token_count
from recorder.core.context import EventContext
from recorder.core.money.usage import UNKNOWN_PROVIDERS
from recorder.core.records import Json, Loop, ModelConfig, Turn

COMPARED_MAX = 100  # configs of a project that are compared to label one: each comparison reads all settings
KEY_SHOWN = 6  # characters of a config's key in a label
_SLOTS = 16  # colours
_PARAMETER_MAX = 200
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
# The part that follows a model's name where one of its versions is named: a date (anthropic, openai), a short
# date or a number (openai, mistral, google), the revision of Bedrock.
_VERSION = re.compile(r"(?:[-@:](?:20\d{2}-?\d{2}-?\d{2}|\d{3,4}|latest))?(?:-v\d+(?::\d+)?)?$")
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Label:
    """The name of a config on pages: its model, and the parameter that distinguishes it."""

    model_short: str
    parameter: str

    def __str__(self) -> str:
        return f"{self.model_short} {self.parameter}".rstrip()


def config_key(snapshot: Json) -> str:
    """Return the key of a config: 32 hex digits of a hash, independent of key order; null counts as unset."""
    settings = (
        {k: v for k, v in snapshot.items() if v is not None} if isinstance(snapshot, dict) else snapshot
    )
    return _hash(_CANONICAL.encode(settings))


@lru_cache(maxsize=1024)  # consecutive answers of a loop imply the same config
def _hash(canonical: str) -> str:
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def inferred_snapshot(answer: Answer, loop_id: str) -> Json:
    """Return the config of a loop that named none, as phi-core infers it: from an answer and its loop id."""
    first, last = loop_id.find("."), loop_id.rfind(".")
    config_id = loop_id[first + 1 : last] if 0 <= first < last else None
    return {"model": answer.model, "provider": answer.provider, "config_id": config_id}


def infer_config(context: EventContext, loop: Loop, answer: Answer) -> None:
    """Set the config of a loop that named none, as its first answer implies it."""
    if loop.config is None:
        loop.config = find_or_add(context, inferred_snapshot(answer, loop.loop_id))
        loop.config_inferred = True


def config_of_turn(context: EventContext, turn: Turn) -> ModelConfig | None:
    """Return the config that answered a turn: its loop's, or that of another model or provider that did.

    Runtimes change the model inside a loop at a hand-off, a fallback or a changed setting. A config names its
    model with or without a version (`claude-haiku-4-5`, `claude-haiku-4-5-20251001`): both are one model.
    """
    config = turn.loop.config
    if config is None or not turn.model or answers(config, turn.model, turn.provider):
        return config
    return find_or_add(context, snapshot_of_answer(turn.model, turn.provider))


def snapshot_of_answer(model: str, provider: str) -> Json:
    """Return the config of a turn that another model or provider answered than its loop's config names."""
    return {"model": clean(model, 512), "provider": clean(provider, 512), "config_id": None}


def answers(config: ModelConfig, model: str, provider: str) -> bool:
    """Return whether a config names the model and the provider that answered, as far as both are known."""
    is_model = not config.model or _without_version(config.model) == _without_version(model)
    return is_model and (
        provider in UNKNOWN_PROVIDERS or config.provider in UNKNOWN_PROVIDERS or provider == config.provider
    )


@lru_cache(maxsize=1024)
def _without_version(model: str) -> str:
    return _VERSION.sub("", short_model_name(model).lower())


def find_or_add(context: EventContext, snapshot: Json) -> ModelConfig:
    """Return the project's config with these settings; create it if there is none."""
    key = config_key(snapshot)
    config = context.state.configs.get(key)
    if config is None:
        config = new_config(snapshot, context.state.configs.values(), context.state.config_count)
        context.add(config)
    return config


def new_config(snapshot: Json, others: Collection[ModelConfig], count: int) -> ModelConfig:
    """Return a config that is not recorded yet; the project has `count` others.

    `others` are at least those of its model; from COMPARED_MAX on they are not read.
    """
    settings = snapshot if isinstance(snapshot, dict) else {}
    config = ModelConfig(
        key=config_key(snapshot),
        model=clean(messages.text_field(settings, "model"), 512),
        provider=clean(messages.text_field(settings, "provider"), 512),
        config_id=clean(messages.text_field(settings, "config_id"), 512),
        snapshot=snapshot,
        slot=count % _SLOTS + 1,
    )
    config.parameter = _first_parameter(config, others, count)
    return config


def _first_parameter(config: ModelConfig, others: Collection[ModelConfig], count: int) -> str:
    """Return what distinguishes a new config from those of its model that exist; it never changes after.

    "" for the first config of a model. No two configs of a model in a project have the same.
    """
    if count >= COMPARED_MAX:
        return config.key[:KEY_SHOWN]
    model = short_model_name(config.model)
    same_model = [other for other in others if short_model_name(other.model) == model]
    if not same_model:
        return ""
    used = {other.parameter for other in same_model}
    for parameter in (_parameter(config, [*same_model, config]), _own_name(config), config.key[:KEY_SHOWN]):
        if (text := excerpt(parameter, _PARAMETER_MAX)) not in used:
            return text
    return config.key


def labels(configs: Iterable[ModelConfig]) -> dict[str, Label]:
    """Return a label for each config by its key: the model, and what distinguishes configs of one model."""
    by_model: dict[str, list[ModelConfig]] = {}
    for config in configs:
        by_model.setdefault(short_model_name(config.model), []).append(config)
    return {
        config.key: Label(model, _parameter(config, same_model))
        for model, same_model in by_model.items()
        for config in same_model
    }


def short_model_name(model: str) -> str:
    """Return a model's name without its path prefix."""
    return model.rsplit("/", 1)[-1]


def _parameter(config: ModelConfig, same_model: list[ModelConfig]) -> str:
    if len(same_model) == 1:
        return ""
    settings, others = _settings(config), [_settings(other) for other in same_model if other is not config]
    if settings in others and (name := _own_name(config)):
        return name  # another config has the same settings
    if settings.keys() <= {"provider"} and all(settings.items() <= other.items() for other in others):
        return _own_name(config)  # it states no parameter that could distinguish it
    differing = [
        name for name in _names(settings, others) if any(settings.get(name) != o.get(name) for o in others)
    ]
    for name in differing:
        if all(settings.get(name) != other.get(name) for other in others):
            return _format_setting(name, settings.get(name))
    if differing:
        return ", ".join(_format_setting(name, settings.get(name)) for name in differing[:2])
    return _label_by_id(config, same_model)


def _label_by_id(config: ModelConfig, same_model: list[ModelConfig]) -> str:
    """Return what distinguishes a config from others of the same settings: its id, else part of its key."""
    if name := _own_name(config):
        return name
    plain = [
        other
        for other in same_model
        if not _own_name(other) and bool(other.config_id) == bool(config.config_id)
    ]
    if len(plain) > 1:
        return config.key[:6]
    return "" if config.config_id else "no config id"


def _own_name(config: ModelConfig) -> str:
    """Return a config id without its provider and model, which labels show anyway."""
    suffix = config.config_id.removeprefix(f"{config.provider}.").removeprefix(config.model)
    return suffix.strip(".")


def _names(settings: Mapping[str, Json], others: list[dict[str, Json]]) -> list[str]:
    """Return the names of all settings, the most significant first."""
    names = set(settings).union(*others)
    return [name for name in _DISTINGUISHING if name in names] + sorted(names.difference(_DISTINGUISHING))


def _settings(config: ModelConfig) -> dict[str, Json]:
    snapshot = config.snapshot if isinstance(config.snapshot, dict) else {}
    settings = {k: v for k, v in snapshot.items() if k not in _NOT_SETTINGS and v is not None}
    return {**settings, "provider": config.provider}


def _format_setting(name: str, value: Json) -> str:
    if name in ("provider", "api") and isinstance(value, str):
        return value
    words = _WORDS.get(name, name.replace("_", " "))
    if value is None:
        return f"no {words}"
    return f"{words} {format_value(name, value)}"


def format_value(name: str, value: Json) -> str:
    """Return a setting's value as text: sizes in tokens, booleans as on and off."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if name in _SIZES and isinstance(value, int):
        return format_token_count(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
