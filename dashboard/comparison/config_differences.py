"""Settings that differ between configs side by side, and settings that are equal. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.shared.config_diff import Setting, settings
from recorder.core.records import Json

NOT_SETTINGS = ("model", "name", "config_id")  # identify a config, and are no settings
NO_VALUE = "none"


@dataclass(frozen=True, slots=True)
class Value:
    """A setting of one column; `is_odd` when it differs from that of the first one."""

    text: str
    is_odd: bool
    url: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that differs between columns."""

    words: str
    values: Sequence[Value]


@dataclass(frozen=True, slots=True)
class SettingsSection:
    """Settings side by side; root of comparison/settings.html."""

    title: str
    differing: Sequence[Difference]
    equal: Sequence[Setting]
    columns: int  # with that of the names


def differences(columns: Sequence[Sequence[Json]]) -> tuple[Sequence[Difference], Sequence[Setting]]:
    """Return the settings that differ, and the equal ones, for the config snapshots of each column.

    A column with several configs has all values of a setting, in their order; one without is not compared.
    """
    configs = [_values(snapshots) for snapshots in columns]
    recorded = [config for config in configs if config]
    words = {name: item.words for config in configs for name, item in config.items()}
    found, equal_settings = [], []
    for name, word in words.items():
        values = [_value(config, name) for config in recorded]
        if len(set(values)) == 1:
            equal_settings.append(recorded[0][name])
        else:
            texts = [
                config[name].value if name in config else NO_VALUE if config else "" for config in configs
            ]
            found.append(Difference(word, [Value(text, bool(text) and text != values[0]) for text in texts]))
    return found, equal_settings


def _values(snapshots: Sequence[Json]) -> Mapping[str, Setting]:
    """Return the settings of the configs of one column, those that differ with all their values."""
    configs = [{item.name: item for item in settings(snapshot, None)} for snapshot in snapshots]
    configs = [config for config in configs if config]
    named = {name: item for config in configs for name, item in config.items() if name not in NOT_SETTINGS}
    return {
        name: Setting(name, item.words, ", ".join(dict.fromkeys(_value(config, name) for config in configs)))
        for name, item in named.items()
    }


def _value(config: Mapping[str, Setting], name: str) -> str:
    return config[name].value if name in config else NO_VALUE
