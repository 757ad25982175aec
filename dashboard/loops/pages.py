"""A session page put together: what its socket keeps up to date, drawn once for the first look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate

from dashboard import links
from dashboard.loops.asked import Asked
from dashboard.loops.live import SessionPage
from dashboard.loops.queries import events, windows
from dashboard.loops.queries.shape import Shape
from dashboard.loops.queries.timeline import Timelines
from dashboard.panels import Panel
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

    @property
    def container(self) -> str:
        """Return the id of the list of events; templates would call a scope."""
        return self.page.scope.container


def conversation(session: Session, loop: int, asked: Asked) -> Shown:
    """Return a page of turns."""
    around = asked.turn + windows.PAGE // 2 if asked.turn is not None else None
    shape = cache(Shape)
    window = windows.turn_window(loop, around if asked.before is None else asked.before)
    page = SessionPage(
        session.project_id,
        session.pk,
        loop,
        asked.tab,
        events.Scope(session.pk, loop),
        window.first,
        window.later,
        asked.tree,
        is_past=asked.at is not None,
        is_raw=asked.is_raw,
        line=Timelines(loop, asked.zoom, not asked.is_idle_shown, shape),
        shape=shape,
    )
    parts = _drawn(page)
    least = sum(asked.turn is not None and each >= asked.turn - 1 for each in window.ordinals)
    left = _too_many(parts.get("turn", []), max(least, 1))
    page.first = window.ordinals[left] if left else window.first
    to_loop = partial(links.loop, session.project.slug, session.pk, loop)
    raw = "1" if asked.is_raw else ""
    earlier = to_loop(before=page.first, raw=raw) if left or window.earlier is not None else ""
    newest = to_loop(raw=raw) if window.later is not None else ""
    other = to_loop(before=asked.before or "", turn=asked.turn or "", raw="" if asked.is_raw else "1")
    return Shown(page, _without(parts, left), earlier, newest, other, window.later is None)


def listing(session: Session, loop: int, asked: Asked) -> Shown:
    """Return a page of events."""
    scope = events.Scope(session.pk, 0 if asked.is_whole else loop, asked.kind)
    window = events.window(scope, before=asked.before, after=asked.after, around=asked.around)
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
    return Shown(page, _drawn(page), earlier, later, is_last=window.later is None)


def address(session: Session, loop: int, asked: Asked, **change: int) -> str:
    """Return the address of another page of the same list."""
    query: dict[str, str | int] = {"tab": asked.tab, "kind": asked.kind}
    query["scope"] = "session" if asked.is_whole else ""
    return links.loop(session.project.slug, session.pk, loop, **query, **change)


def _too_many(turns: Sequence[str], least: int) -> int:
    """Return how many of the earliest turns are left out, so that the others weigh no more than they may."""
    sizes = accumulate(len(html.encode()) for html in reversed(turns))
    fitting = sum(size <= TURNS_BYTES for size in sizes)
    return max(0, len(turns) - max(fitting, least))


def _without(parts: Mapping[str, list[str]], left: int) -> Mapping[str, list[str]]:
    return {**parts, "turn": parts["turn"][left:]} if left else parts


def _drawn(page: SessionPage) -> Mapping[str, list[str]]:
    """Draw the page's panels, each as the socket would."""
    return {
        panel.name.partition("/")[2].replace("-", "_"): _each(panel, pks) for panel, pks in page.everything()
    }


def _each(panel: Panel, pks: list[int]) -> list[str]:
    html = panel.draw(pks)
    return [html[pk] for pk in pks if pk in html]


def socket(session: Session, shown: Shown, asked: Asked) -> str:
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
