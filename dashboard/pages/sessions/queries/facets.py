"""Options of the filter bar, and the number of sessions in each view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from dashboard.live.cached_value import cached
from dashboard.live.paged_list import Count, count
from dashboard.pages.sessions.params import SORT_WORDS, VIEWS, Filters
from dashboard.pages.sessions.queries.list import INDEXED, few
from dashboard.pages.sessions.queries.list import matching as of_filters
from dashboard.query_language.choices import with_conditions
from dashboard.shared.queries.session_filter import METADATA, OUTCOMES, SILENT, matching
from dashboard.templatetags.figures import GLYPHS
from dashboard.web.filters import Menu, Option, choices, options
from recorder.core.content.labels import metadata_of, tags_of
from recorder.models import ModelConfig, Session, Turn

NEWEST = 1_000  # the newest sessions, whose agents and sources are options
MODELS_MAX = 200
LABELS_MAX = 200  # tags, and values of metadata
VALUES_MAX = 20  # of one name of metadata; with more it is an id, and no choice
AGENTS_MAX = 200  # agents that took over inside a loop
COUNTED_S = 5  # seconds for which the count of a saved view is kept
MARKS = {"bookmarked": "Bookmarked by me", "mine": "Mine", "pinned": "Pinned"}
VIEW_WORDS = {
    "": "All",
    "running": "Running",
    "waiting": "Waiting",
    "stale": "Stale",
    "evaluations": "Evaluations",
    "failed": "Failed",
}


@dataclass(frozen=True, slots=True)
class View:
    """A tab: one more filter. Its count is that of the list which it opens."""

    label: str
    href: str
    is_current: bool
    count: Count


def menus(project: int, filters: Filters) -> list[Menu]:
    """Return the menus: recorded values and the current selection. Three queries."""
    newest = Session.objects.filter(project=project).order_by("-last_event_at", "-pk")
    rows = list(newest.values_list("agent_id", "source", "tags", "metadata")[:NEWEST])
    configs = ModelConfig.objects.filter(project=project).order_by("model")
    models = configs.values_list("model", flat=True).distinct()[:MODELS_MAX]
    switched = Turn.objects.filter(loop__session__project=project, loop__has_switched=True)
    took_over = switched.exclude(agent_id="").values_list("agent_id", flat=True).distinct()[:AGENTS_MAX]
    open_states = [_state("status", word, filters) for word in reversed(SILENT)]
    sorts = [Option("sort", value, label, filters.sort == value) for value, label in SORT_WORDS.items()]
    menus = [
        Menu("Status", open_states + [_state("outcome", word, filters) for word in OUTCOMES]),
        Menu("Model", options("model", models, filters.chosen.get("model", ()))),
        Menu(
            "Agent",
            options("agent", [*(agent for agent, *_ in rows), *took_over], filters.chosen.get("agent", ())),
        ),
        Menu(
            "Source", options("source", (source for _, source, *_ in rows), filters.chosen.get("source", ()))
        ),
        Menu("Marked", choices("is", MARKS, filters.chosen.get("is", ()))),
        *_labels(filters, [tags for *_, tags, _ in rows], [metadata for *_, metadata in rows]),
        Menu("Sort", sorts, is_single=True, is_filter=False),
    ]
    keys = {option.name: option.name for menu in menus if menu.is_filter for option in menu.options}
    return with_conditions(menus, keys | {"outcome": "status"})


def _labels(filters: Filters, tags: Sequence[Any], metadata: Sequence[Any]) -> Iterator[Menu]:
    """Return the menus of tags and of metadata, if there are any; names with many values are left out."""
    used_tags = {tag for each in tags if each for tag in tags_of(each)}
    if used_tags or filters.chosen.get("tag"):
        yield Menu("Tag", options("tag", sorted(used_tags)[:LABELS_MAX], filters.chosen.get("tag", ())))
    values: dict[str, set[str]] = {}
    for each in metadata:
        for name, found in metadata_of(each).items():
            values.setdefault(name, set()).update(found)
    chosen = {
        (key.removeprefix(METADATA), value)
        for key, values_of_key in filters.chosen.items()
        if key.startswith(METADATA)
        for value in values_of_key
    }
    pairs = {(name, value) for name, found in values.items() if len(found) <= VALUES_MAX for value in found}
    if pairs or chosen:
        shown = sorted({*sorted(pairs)[:LABELS_MAX], *chosen})
        yield Menu(
            "Metadata",
            [
                Option(f"{METADATA}{name}", value, f"{name} = {value}", (name, value) in chosen)
                for name, value in shown
            ],
        )


def _state(name: str, word: str, filters: Filters) -> Option:
    return Option(name, word, GLYPHS[word][2], word in filters.chosen.get("status", ()), state=word)


def views(project: int, filters: Filters, now: datetime) -> list[View]:
    """Return the tabs. A tab changes the view; all other filters stay, so counts follow them.

    From a saved view a tab leads to the whole list.
    """
    filters = Filters(view="saved") if filters.saved else filters  # no tab is the current one
    pks = few(project, filters.but(view=""), now)
    return [_view(project, filters, view, pks, now) for view in ("", *VIEWS)]


def _view(project: int, filters: Filters, view: str, pks: list[int] | None, now: datetime) -> View:
    address = filters.but(view=view)
    if pks is None:
        rows = of_filters(project, address, now)
    else:
        rows = matching(project, Filters(view=view).wanted(now)).filter(pk__in=pks)
    return View(VIEW_WORDS[view], address.query, view == filters.view, count(rows))


def cheap_count(project: int, filters: Filters) -> str:
    """Return how many sessions a saved view has, "" if that takes more than an index. One query at most."""
    if set(filters.plain.pairs()).difference(INDEXED):
        return ""
    now = timezone.now()
    wanted = filters.wanted(now)
    return cached(
        "sessions-saved-view",
        project,
        filters.plain.query,
        COUNTED_S,
        lambda: count(matching(project, wanted)).text,
    )
