"""What the palette can do beside finding: go to a page, or press a key. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboard.web import links


@dataclass(frozen=True, slots=True)
class Action:
    """An address to go to, or a key of `dashboard/static/js/keys.js` to press."""

    words: str
    icon: str
    url: str = ""
    press: str = ""


def actions(slug: str, q: str) -> Sequence[Action]:
    """Return the actions whose words hold every word of `q`."""
    wanted = q.lower().split()
    found = [each for each in _all(slug) if all(word in each.words.lower() for word in wanted)]
    if q:
        found.append(Action(f"Filter sessions by “{q}”", "list-filter", links.sessions(slug, q=q)))
    return found


def _all(slug: str) -> Iterator[Action]:
    yield Action("Go to sessions", "list-tree", links.sessions(slug))
    yield Action("Go to attention", "bell", links.page("attention", slug))
    yield Action("Go to evaluations", "columns-3", links.evaluations(slug))
    yield Action("Go to the leaderboard", "trophy", links.page("leaderboard", slug))
    yield Action("Go to costs", "circle-dollar-sign", links.page("costs", slug))
    yield Action("Go to compactions", "fold-vertical", links.compactions(slug))
    yield Action("Go to insights", "lightbulb", links.insights(slug))
    yield Action("Go to integrity", "shield-check", links.integrity(slug))
    yield Action("Open settings", "settings", links.page("settings", slug))
    yield Action("Switch between light and dark", "sun-moon", press="t")
    yield Action("Show all keys", "circle-question-mark", press="?")
