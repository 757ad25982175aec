"""Settings that differ between the configs of branches, and settings that are equal. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.shared.config_diff import Setting, settings
from recorder.core.records import Json

NOT_SETTINGS = ("model", "name", "config_id")  # identify a config, and are no settings


@dataclass(frozen=True, slots=True)
class Value:
    """A setting of one branch; `is_odd` when it differs from that of the first branch."""

    text: str
    is_odd: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that differs between branches."""

    words: str
    values: Sequence[Value]


def differences(snapshots: Sequence[Json]) -> tuple[Sequence[Difference], Sequence[Setting]]:
    """Return the settings that differ, and the equal ones; a branch without a config is not compared."""
    configs = [{item.name: item for item in settings(snapshot, None)} for snapshot in snapshots]
    recorded = [config for config in configs if config]
    words = {
        name: item.words for config in configs for name, item in config.items() if name not in NOT_SETTINGS
    }
    found, equal_settings = [], []
    for name, word in words.items():
        values = [config[name].value if name in config else "none" for config in recorded]
        if len(set(values)) == 1:
            equal_settings.append(recorded[0][name])
        else:
            texts = [config[name].value if name in config else "none" if config else "" for config in configs]
            found.append(Difference(word, [Value(text, bool(text) and text != values[0]) for text in texts]))
    return found, equal_settings
