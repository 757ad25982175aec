"""The settings of a loop's config, and their changes against the loop it continues. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recorder.core.content.text import clean
from recorder.core.handlers.model_configs import format_value
from recorder.core.records import Json

WORDS = {
    "model": "Model",
    "provider": "Provider",
    "api": "API",
    "config_id": "Config id",
    "name": "Name",
    "base_url": "Base URL",
    "reasoning": "Reasoning",
    "thinking_level": "Thinking",
    "temperature": "Temperature",
    "context_window": "Context",
    "max_tokens": "Max output",
}
ON_STRIP = ("thinking_level", "temperature", "context_window", "max_tokens")


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of a config snapshot; `before` is its value in the parent loop when that differs."""

    name: str
    words: str
    value: str
    before: str | None = None


def settings(snapshot: Json, parent: Json) -> Sequence[Setting]:
    """Return every field, the well-known ones of `WORDS` first, then the others by name."""
    now, before = _fields(snapshot), _fields(parent)
    names = [name for name in WORDS if name in now or name in before]
    names += sorted((now.keys() | before.keys()) - WORDS.keys())
    compared = bool(before) and bool(now)
    return [
        Setting(
            name,
            WORDS.get(name, name.replace("_", " ").capitalize()),
            _format(name, now.get(name)),
            _format(name, before.get(name)) if compared and now.get(name) != before.get(name) else None,
        )
        for name in names
    ]


def strip(all_settings: Sequence[Setting]) -> Sequence[Setting]:
    """Return the settings of the collapsed strip: changed ones first, then those of `ON_STRIP`."""
    changed = [each for each in all_settings if each.before is not None]
    usual = [
        each
        for each in all_settings
        if each.name in ON_STRIP and each.before is None and each.value != "none"
    ]
    return [*changed, *usual]


def _fields(snapshot: Json) -> Mapping[str, Json]:
    return (
        {name: value for name, value in snapshot.items() if value is not None}
        if isinstance(snapshot, dict)
        else {}
    )


def _format(name: str, value: Json) -> str:
    if value is None:
        return "none"
    return clean(format_value(name, value), 500)
