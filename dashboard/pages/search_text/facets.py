"""Facets: values beside the results, each a link that writes the query or chooses kinds of text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dashboard.pages.search_text.kinds import KINDS
from dashboard.pages.search_text.params import SearchParams
from dashboard.pages.search_text.queries.counts import Counts
from dashboard.query_language import print_query
from dashboard.query_language.choices import choose, chosen
from dashboard.templatetags.figures import GLYPHS
from dashboard.web.query_params import Choices

STATUSES = ("failed", "completed", "running", "waiting", "aborted", "cancelled", "limit", "rejected", "stale")
WINDOWS = ("24h", "7d", "30d", "all")
SHOWN = 5  # values of a facet; the others are folded


@dataclass(frozen=True, slots=True)
class Value:
    """One value: a link that adds or removes it. `count` is empty while it is not counted."""

    label: str
    url: str
    is_on: bool
    count: str = ""


@dataclass(frozen=True, slots=True)
class Facet:
    """One group of values, and those that are folded."""

    title: str
    values: Sequence[Value]
    folded: Sequence[Value] = ()


def facets(
    params: SearchParams, recorded: Mapping[str, Iterable[str]], counts: Counts | None = None
) -> Sequence[Facet]:
    """Return the facets of a valid query; `recorded` has the values of each key, the most frequent first."""
    found = [_facet("Found in", list(_kinds(params, counts)), len(KINDS))]
    for key, title in (("status", "Status"), ("model", "Model"), ("agent", "Agent"), ("tool", "Tool")):
        values = STATUSES if key == "status" else recorded[key]
        found.append(_facet(title, list(_values(params, key, values, counts))))
    return [facet for facet in found if facet.values]


def times(params: SearchParams) -> Choices:
    """Return the time ranges: value, link, whether it is chosen."""
    node = params.parsed.node
    now = chosen(node).get("since", ())
    shown = [("since", value) for value in now]
    return [
        (
            window,
            params.but(
                q=print_query(choose(node, () if window == "all" else [("since", window)], shown=shown))
            ).query,
            now == (() if window == "all" else (window,)),
        )
        for window in WINDOWS
    ]


def _kinds(params: SearchParams, counts: Counts | None) -> Iterator[Value]:
    numbers = counts.kinds if counts else {}
    for name, kind in KINDS.items():
        is_on = name in params.kind
        rest = tuple(other for other in params.kind if other != name)
        url = params.but(kind=rest if is_on else (*params.kind, name)).query
        yield Value(kind.word, url, is_on, numbers[name].text if name in numbers else "")


def _values(params: SearchParams, key: str, values: Iterable[str], counts: Counts | None) -> Iterator[Value]:
    node = params.parsed.node
    on = chosen(node).get(key, ())
    numbers = counts.values[key] if counts else {}
    for value in dict.fromkeys([*on, *values]):
        pair = (key, value)
        changed = choose(node, (), shown=[pair]) if value in on else choose(node, [pair])
        yield Value(
            label=GLYPHS[value][2] if key == "status" else value,
            url=params.but(q=print_query(changed)).query,
            is_on=value in on,
            count=(numbers[value].text if value in numbers else "0") if counts else "",
        )


def _facet(title: str, values: Sequence[Value], shown: int = SHOWN) -> Facet:
    most = max(shown, sum(value.is_on for value in values))
    if len(values) <= most + 1:  # a fold of one value would be as long
        return Facet(title, values)
    return Facet(title, values[:most], values[most:])
