"""A panel is one live region: name, query, partial, DOM id.

Page and socket render it with the same function, so what is pushed equals what a reload shows (the reload
invariant). Cost: a fixed number of SQL queries for any number of panels of one kind, and one template each.
The fragments of a panel whose query is a `CachedQuery` are rendered once and kept in Django's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.core.cache import cache
from django.template.loader import render_to_string

from dashboard.web import links

VIEWS = 8  # fragments that are not cached, read at once
CACHED_CHARS = 64_000  # longer fragments are not cached, which bounds the cache: it counts entries


class Source(Protocol):
    """The source of a fragment. Sources of one kind with equal fingerprints render equally."""

    @property
    def fingerprint(self) -> str: ...


@dataclass(frozen=True, slots=True)
class CachedQuery:
    """A query in two parts: `sources` reads what identifies a fragment, `views` the rest of what it shows.

    Both return values by primary key in a fixed number of SQL queries. Invariant: a fingerprint covers every
    value that the partial shows, so a cached fragment is never out of date and is never invalidated.
    """

    kind: str  # part of the cache key: sources of different kinds are rendered differently
    sources: Callable[[Collection[int]], Mapping[int, Any]]
    views: Callable[[Collection[Any]], Mapping[int, object]]

    def __call__(self, pks: Collection[int]) -> Mapping[int, object]:
        return self.views(self.sources(pks).values())

    def key(self, source: Source) -> str:
        """Return the cache key of a fragment."""
        return f"{self.kind}:{source.fingerprint}"


@dataclass(frozen=True, slots=True)
class Panel:
    """`name` is "page/part" or "page/region/part": "session/conversation/turn" is drawn by the partial
    templates/session/conversation/_turn.html into `#session-turn-<pk>`.

    A panel that several pages show is "_shared/part". `query` takes primary keys and returns what the partial
    shows for each, in a fixed number of SQL queries; a deleted record is left out. An open page redraws it at
    most every `min_interval_ms` milliseconds; 0 is every tick. A page whose `is_needed` panel has no record
    any more is dropped, as it is about that record: it reconnects and gets the address of another one.
    """

    name: str
    query: Callable[[Collection[int]], Mapping[int, object]] | CachedQuery
    min_interval_ms: int = 0
    is_needed: bool = False

    def dom_id(self, pk: int) -> str:
        """Return the DOM id: page, part and primary key, which contain no dots."""
        page, *_, part = self.name.split("/")
        return f"{page.lstrip('_')}-{part}-{pk}"

    @property
    def template(self) -> str:
        folder, _, part = self.name.rpartition("/")
        return f"{folder}/_{part.replace('-', '_')}.html"

    def draw(self, pks: Collection[int], *, oob: bool = False) -> dict[int, str]:
        """Return the HTML by primary key, without deleted records; `oob` marks it for an out-of-band swap."""
        return dict(self.each(pks, oob=oob))

    def each(self, pks: Collection[int], *, oob: bool = False) -> Iterator[tuple[int, str]]:
        """Yield what `draw` returns in the order of `pks`, each panel rendered only when it is asked for."""
        # As of an event, links lead to that event; such pages are seldom opened twice.
        if isinstance(self.query, CachedQuery) and not links.is_as_of():
            yield from self._each_cached(self.query, pks, oob=oob)
            return
        shown = self.query(pks)
        for pk in pks:
            if pk in shown:
                yield pk, self.fragment(pk, shown[pk], oob=oob)

    def _each_cached(
        self, query: CachedQuery, pks: Collection[int], *, oob: bool
    ) -> Iterator[tuple[int, str]]:
        sources = query.sources(pks)
        keys = {pk: query.key(source) for pk, source in sources.items()}
        cached = cache.get_many(keys.values())
        missing = [pk for pk in pks if pk in keys and keys[pk] not in cached]
        views: dict[int, object] = {}
        for pk in pks:
            if pk not in keys:
                continue
            html = cached.get(keys[pk])
            if html is None:
                if pk not in views:  # nothing is read for panels that are never requested
                    some, missing = missing[:VIEWS], missing[VIEWS:]
                    views |= query.views([sources[missed] for missed in some])
                if pk not in views:
                    continue
                html = self.fragment(pk, views.pop(pk))
                if len(html) <= CACHED_CHARS:
                    cache.set(keys[pk], html)
            yield pk, self._out_of_band(pk, html) if oob else html

    def _out_of_band(self, pk: int, html: str) -> str:
        """Mark a fragment as `fragment` does: the first id in it is that of its root element."""
        name = f'id="{self.dom_id(pk)}"'
        return html.replace(name, f'{name} hx-swap-oob="morph"', 1)

    def fragment(self, pk: int, value: object, *, oob: bool = False) -> str:
        """Return the HTML of one panel from the value that `query` returned for it."""
        return render_to_string(self.template, {"id": self.dom_id(pk), "panel": value, "oob": oob})
