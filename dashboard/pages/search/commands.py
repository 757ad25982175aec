"""Commands of the palette: go to a page, or press a key. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dashboard.query_language import print_query
from dashboard.query_language.choices import choose, is_valid
from dashboard.shared.saved_views.queries import View
from dashboard.shell.page import PageFolder
from dashboard.web import links

_PATH = re.compile(r"\S*(?:/\S+|\.[A-Za-z]\w{0,9})")  # src/app.py, app.py


@dataclass(frozen=True, slots=True)
class Action:
    """A URL to open, or a key of `static/js/shell/keyboard.js` to press."""

    words: str
    icon: str
    url: str = ""
    press: str = ""


def actions(slug: str, q: str, pages: Iterable[PageFolder], views: Iterable[View] = ()) -> Sequence[Action]:
    """Return the commands whose label contains every word of `q`."""
    wanted = q.lower().split()
    found = [each for each in _all(slug, pages, views) if all(word in each.words.lower() for word in wanted)]
    if _PATH.fullmatch(q) and is_valid("file", q):
        query = print_query(choose(None, [("file", q)]))
        found.append(
            Action(
                f"Sessions that used the file “{q}”", "file-text", links.sessions(slug, q=query, since="all")
            )
        )
    if q:
        found.append(Action(f"Search all text for “{q}”", "search", links.search_text(slug, q=q)))
        found.append(Action(f"Filter sessions by “{q}”", "list-filter", links.sessions(slug, q=q)))
    return found


def _all(slug: str, pages: Iterable[PageFolder], views: Iterable[View]) -> Iterator[Action]:
    for page in pages:
        if page.link:
            yield Action(page.link.command, page.link.icon, links.page(page.name, slug))
    for view in views:
        yield Action(f"Open the view {view.name}", view.icon, view.url)
    yield Action("Show saved views", "list-filter", links.page("views", slug))
    yield Action("Switch between light and dark", "sun-moon", press="t")
    yield Action("Show keyboard shortcuts", "circle-question-mark", press="?")
