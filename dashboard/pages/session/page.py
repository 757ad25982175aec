"""Renders a session page: the panels that its socket keeps up to date, rendered once for the first response.

Invariant: the page and its socket use the same panels and the same bounds (`first`, `last`), so a pushed
panel equals the panel of a reload. A page is limited to PAGE_BYTES of HTML. The other panels are limited by
their numbers; the turns get the rest, at most TURNS_BYTES: they are rendered from the newest backwards until
the limit is reached, so the cost is proportional to the turns shown plus one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from dashboard.live.panel import Panel
from dashboard.pages.session.context.panel_view import Contexts, with_chosen_turn
from dashboard.pages.session.conversation.queries import window as conversation_window
from dashboard.pages.session.events.queries import event_list
from dashboard.pages.session.live import SessionPage
from dashboard.pages.session.params import SessionParams
from dashboard.pages.session.timeline.queries.timeline import Timelines
from dashboard.pages.session.tree.queries.structure import Shape
from dashboard.web import links
from recorder.models import Session

PAGE_BYTES = 120_000  # of HTML; a single turn may exceed it
FRAME_BYTES = 20_000  # of these for everything around the panels
TURNS_BYTES = 60_000
TURNS_AFTER = 2  # shown after the turn that a URL selects
FIRST_READ = 8  # turns of the usual size within that limit, and one more


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page with its rendered panels and the URLs of adjacent pages of its list."""

    page: SessionPage
    drawn: Mapping[str, list[str]]  # panels by the last part of their name
    earlier: str = ""
    later: str = ""
    other: str = ""  # URL of the same turns with Markdown rendered or raw
    is_last: bool = True  # new entries belong to this page
    most: int = conversation_window.PAGE  # maximum number of turns or events
    most_bytes: int = TURNS_BYTES
    url: str = ""  # of the newest turns or events

    @property
    def gap_order(self) -> float:
        """Return the order of the link to earlier entries within the list."""
        return self.page.first - 0.5

    @property
    def container(self) -> str:
        """Return the DOM id of the list of events.

        Templates cannot read it from the scope, which is callable.
        """
        return self.page.scope.container


def conversation(session: Session, loop: int, params: SessionParams) -> RenderedPage:
    """Return a page of turns."""
    around = params.turn + TURNS_AFTER if params.turn is not None else None
    shape = cache(Shape)
    window = conversation_window.turn_window(loop, around if params.before is None else params.before)
    page = SessionPage(
        session.project_id,
        session.pk,
        loop,
        params.tab,
        event_list.Scope(session.pk, loop),
        window.first,
        window.later,
        params.tree,
        is_past=params.at is not None,
        is_raw=params.is_raw,
        notes=params.notes,
        line=Timelines(loop, params.zoom, not params.is_idle_shown, shape),
        context=(
            with_chosen_turn(session, loop, params.context)
            if params.tab == "context" and loop
            else Contexts(loop, params.context)
        ),
        shape=shape,
    )
    least = sum(params.turn is not None and ordinal >= params.turn - 1 for ordinal in window.ordinals)
    parts = _draw(page, max(least, 1))
    left = len(window.ordinals) - len(parts.get("turn", window.ordinals))
    page.first = window.ordinals[left] if left > 0 else window.first
    to_loop = partial(links.loop, session.project.slug, session.pk, loop)
    raw = "1" if params.is_raw else ""
    earlier = to_loop(before=page.first, raw=raw) if left > 0 or window.earlier is not None else ""
    newest = to_loop(raw=raw)
    other = to_loop(before=params.before or "", turn=params.turn or "", raw="" if params.is_raw else "1")
    is_last = window.later is None
    return RenderedPage(page, parts, earlier, "" if is_last else newest, other, is_last, url=newest)


def listing(session: Session, loop: int, params: SessionParams) -> RenderedPage:
    """Return a page of events."""
    scope = event_list.scope_of(session.pk, loop, params.events)
    window = event_list.window(scope, before=params.before, after=params.after, around=params.around)
    first, last = (window.pks[0], window.pks[-1]) if window.pks else (0, None)
    page = SessionPage(
        session.project_id,
        session.pk,
        loop,
        params.tab,
        scope,
        first,
        last if window.later is not None else None,
        params.tree,
        is_past=params.at is not None,
        notes=params.notes,
        shape=cache(Shape),
    )
    earlier = address(session, loop, params, before=window.earlier) if window.earlier is not None else ""
    later = address(session, loop, params, after=window.later) if window.later is not None else ""
    newest = address(session, loop, params)
    is_last = window.later is None
    return RenderedPage(page, _draw(page), earlier, later, is_last=is_last, most=event_list.PAGE, url=newest)


def address(session: Session, loop: int, params: SessionParams, **change: int) -> str:
    """Return the URL of another page of the same list."""
    return links.loop(session.project.slug, session.pk, loop, **params.events.pairs(), **change)


def _draw(page: SessionPage, least: int = 1) -> Mapping[str, list[str]]:
    """Render the panels of a page as the socket does; turns as far as there is room, at least `least`."""
    drawn: dict[str, list[str]] = {}
    wanted = {
        panel.name.rpartition("/")[2].replace("-", "_"): (panel, pks) for panel, pks in page.all_panels()
    }
    turns = wanted.pop("turn", None)
    for part, (panel, pks) in wanted.items():
        drawn[part] = _draw_panel(panel, pks)
    if turns is not None:
        used = FRAME_BYTES + sum(len(html.encode()) for htmls in drawn.values() for html in htmls)
        drawn["turn"] = _newest(*turns, least, min(PAGE_BYTES - used, TURNS_BYTES))
    return drawn


def _draw_panel(panel: Panel, pks: Sequence[int]) -> list[str]:
    html = panel.draw(pks)
    return [html[pk] for pk in pks if pk in html]


def _newest(panel: Panel, pks: Sequence[int], least: int, most_bytes: int) -> list[str]:
    """Render the last panels within `most_bytes`, at least `least` of them; skip those without data."""
    drawn: list[str] = []
    weight = 0
    for html in _backwards(panel, pks):
        weight += len(html.encode())
        if weight > most_bytes and len(drawn) >= least:
            break
        drawn.append(html)
    return drawn[::-1]


def _backwards(panel: Panel, pks: Sequence[int]) -> Iterator[str]:
    """Yield panels from the last to the first."""
    for part in (pks[-FIRST_READ:][::-1], pks[:-FIRST_READ][::-1]):
        if part:
            yield from (html for _, html in panel.each(part))


def socket(session: Session, shown: RenderedPage, params: SessionParams) -> str:
    """Return the socket's URL, with parameters that select exactly the panels of the page."""
    page = shown.page
    if params.at is not None:
        return links.live(session.project.slug, "session", session=page.session, at=params.at)
    return links.live(
        session.project.slug,
        "session",
        session=page.session,
        loop=page.loop or "",
        **_list_params(page, params),
        first=page.first or "",
        last="" if page.last is None else page.last,
        tree="" if page.at is None else page.at,
        zoom="" if params.zoom is None else f"{params.zoom[0]:g}-{params.zoom[1]:g}",
        idle="1" if params.is_idle_shown else "",
        raw="1" if params.is_raw else "",
        notes=params.notes,
    )


def _list_params(page: SessionPage, params: SessionParams) -> Mapping[str, links.Value]:
    """Return the tab with its parameters: what filters events and what the tab Context shows share names."""
    if page.tab == "context":
        return dict(page.context.params.pairs())
    filters = params.events
    return {"tab": page.tab, "kind": filters.kind, "type": filters.type, "scope": filters.scope}
