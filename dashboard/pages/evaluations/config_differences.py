"""Which settings of branches differ, and which do not. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.shared.config_diff import Setting, settings
from recorder.core.records import Json

NOT_SETTINGS = ("model", "name", "config_id")  # what a config is called


@dataclass(frozen=True, slots=True)
class Value:
    """A setting of one branch; `is_odd` when it is not the first one's."""

    text: str
    is_odd: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that is not the same in all branches."""

    words: str
    values: Sequence[Value]


def differences(snapshots: Sequence[Json]) -> tuple[Sequence[Difference], Sequence[Setting]]:
    """Return the settings that differ, and those that do not; a branch without a config differs in none."""
    said = [{each.name: each for each in settings(snapshot, None)} for snapshot in snapshots]
    known = [mine for mine in said if mine]
    words = {name: each.words for mine in said for name, each in mine.items() if name not in NOT_SETTINGS}
    found, alike = [], []
    for name, word in words.items():
        values = [mine[name].value if name in mine else "none" for mine in known]
        if len(set(values)) == 1:
            alike.append(known[0][name])
        else:
            texts = [mine[name].value if name in mine else "none" if mine else "" for mine in said]
            found.append(Difference(word, [Value(text, bool(text) and text != values[0]) for text in texts]))
    return found, alike
