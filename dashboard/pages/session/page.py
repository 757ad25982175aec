"""A session page put together: what its socket keeps up to date, drawn once for the first look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from dashboard.live.panel import Panel
from dashboard.pages.session.conversation import window as conversation_window
from dashboard.pages.session.events import queries
from dashboard.pages.session.live import SessionPage
from dashboard.pages.session.params import Params
from dashboard.pages.session.timeline.queries import Timelines
from dashboard.pages.session.tree.structure import Shape
from dashboard.web import links
from recorder.models import Session

TURNS_BYTES = 120_000  # of HTML: of large turns a page shows fewer


@dataclass(frozen=True, slots=True)
class Shown:
    """The page, its list and the ways to the rest of it."""

    page: SessionPage
    drawn: Mapping[str, list[str]]  # its panels, by the part of their name
    earlier: str = ""
    later: str = ""
    other: str = ""  # the same turns as they were written, or rendered
    is_last: bool = True  # what comes next belongs here
    most: int = conversation_window.PAGE  # turns or events of a page
    most_bytes: int = TURNS_BYTES
    url: str = ""  # of the newest turns or events

    @property
    def gap_order(self) -> float:
        """Return where a link to what comes before the list stands in it."""
        return self.page.first - 0.5

    @property
    def container(self) -> str:
        """Return the id of the list of events; templates would call a scope."""
        return self.page.scope.container


def conversation(session: Session, loop: int, asked: Params) -> Shown:
    """Return a page of turns."""
    around = asked.turn + conversation_window.PAGE // 2 if asked.turn is not None else None
    shape = cache(Shape)
    window = conversation_window.turn_window(loop, around if asked.before is None else asked.before)
    page = SessionPage(
        session.project_id,
        session.pk,
        loop,
        asked.tab,
        queries.Scope(session.pk, loop),
        window.first,
        window.later,
        asked.tree,
        is_past=asked.at is not None,
        is_raw=asked.is_raw,
        line=Timelines(loop, asked.zoom, not asked.is_idle_shown, shape),
        shape=shape,
    )
    least = sum(asked.turn is not None and each >= asked.turn - 1 for each in window.ordinals)
    parts = _drawn(page, max(least, 1))
    left = len(window.ordinals) - len(parts.get("turn", window.ordinals))
    page.first = window.ordinals[left] if left > 0 else window.first
    to_loop = partial(links.loop, session.project.slug, session.pk, loop)
    raw = "1" if asked.is_raw else ""
    earlier = to_loop(before=page.first, raw=raw) if left > 0 or window.earlier is not None else ""
    newest = to_loop(raw=raw)
    other = to_loop(before=asked.before or "", turn=asked.turn or "", raw="" if asked.is_raw else "1")
    is_last = window.later is None
    return Shown(page, parts, earlier, "" if is_last else newest, other, is_last, url=newest)


def listing(session: Session, loop: int, asked: Params) -> Shown:
    """Return a page of events."""
    scope = queries.Scope(session.pk, 0 if asked.is_whole else loop, asked.kind)
    window = queries.window(scope, before=asked.before, after=asked.after, around=asked.around)
    first, last = (window.pks[0], window.pks[-1]) if window.pks else (0, None)
    page = SessionPage(
        session.project_id,
        session.pk,
        loop,
        asked.tab,
        scope,
        first,
        last if window.later is not None else None,
        asked.tree,
        is_past=asked.at is not None,
        shape=cache(Shape),
    )
    earlier = address(session, loop, asked, before=window.earlier) if window.earlier is not None else ""
    later = address(session, loop, asked, after=window.later) if window.later is not None else ""
    newest = address(session, loop, asked)
    is_last = window.later is None
    return Shown(page, _drawn(page), earlier, later, is_last=is_last, most=queries.PAGE, url=newest)


def address(session: Session, loop: int, asked: Params, **change: int) -> str:
    """Return the address of another page of the same list."""
    query: dict[str, str | int] = {"tab": asked.tab, "kind": asked.kind}
    query["scope"] = "session" if asked.is_whole else ""
    return links.loop(session.project.slug, session.pk, loop, **query, **change)


def _drawn(page: SessionPage, least: int = 1) -> Mapping[str, list[str]]:
    """Draw the page's panels, each as the socket would; of turns as many as fit, and so many at least."""
    drawn = {}
    for panel, pks in page.everything():
        part = panel.name.rpartition("/")[2].replace("-", "_")
        drawn[part] = _newest(panel, pks, least) if part == "turn" else _each(panel, pks)
    return drawn


def _each(panel: Panel, pks: Sequence[int]) -> list[str]:
    html = panel.draw(pks)
    return [html[pk] for pk in pks if pk in html]


def _newest(panel: Panel, pks: Sequence[int], least: int) -> list[str]:
    """Draw the last panels that together weigh no more than they may, and none that would not be shown."""
    views = panel.query(pks)
    drawn: list[str] = []
    weight = 0
    for pk in [pk for pk in reversed(pks) if pk in views]:
        html = panel.fragment(pk, views[pk])
        weight += len(html.encode())
        if weight > TURNS_BYTES and len(drawn) >= least:
            break
        drawn.append(html)
    return drawn[::-1]


def socket(session: Session, shown: Shown, asked: Params) -> str:
    """Return the socket's URL, so that a reconnect redraws exactly what the page shows."""
    page = shown.page
    if asked.at is not None:
        return links.live(session.project.slug, "session", session=page.session, at=asked.at)
    return links.live(
        session.project.slug,
        "session",
        session=page.session,
        loop=page.loop or "",
        tab=page.tab,
        kind=asked.kind,
        scope="session" if asked.is_whole else "",
        first=page.first or "",
        last="" if page.last is None else page.last,
        tree="" if page.at is None else page.at,
        zoom="" if asked.zoom is None else f"{asked.zoom[0]:g}-{asked.zoom[1]:g}",
        idle="1" if asked.is_idle_shown else "",
        raw="1" if asked.is_raw else "",
    )
