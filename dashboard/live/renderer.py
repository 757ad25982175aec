"""Rendering of panels in a thread pool: in Channels' single thread a slow query would block all sockets.

Panels of one kind are rendered together, so their query runs once however many are dirty. A panel or page
that fails is left out and logged; the others are still rendered. Database connections belong to the pool's
threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

from django.db import close_old_connections, connection

from dashboard.live.viewer import Key, LivePage, keys
from recorder.ingest.metrics import REDRAWS

log = logging.getLogger(__name__)

R = TypeVar("R")

# Two threads: one may wait for the database while the other renders; more would compete for the GIL.
DRAWING = ThreadPoolExecutor(max_workers=2, thread_name_prefix="draw")


def with_connection(read: Callable[[], R]) -> R:
    """Return what `read` returns, in a thread of the pool."""
    _tidy()
    try:
        return read()
    finally:
        _tidy()


def whole_pages(pages: Collection[LivePage]) -> list[list[Key] | None]:
    """Return all panels of each page; None for a page that raised."""
    _tidy()
    try:
        return [_whole_page(page) for page in pages]
    finally:
        _tidy()


def _whole_page(page: LivePage) -> list[Key] | None:
    try:
        return keys(page.dirty_panels(None))
    except Exception:  # a bug in one page must not stop the others
        log.exception("a page failed to list its panels")
        return None


def draw(wanted: Collection[Key]) -> dict[Key, str]:
    """Return the HTML of each panel; its removal if its record was deleted.

    One that raised has no entry, nor has a needed one without its record.
    """
    _tidy()
    html_of_key: dict[Key, str] = {}
    try:
        for panel, group in groupby(sorted(wanted, key=lambda key: (key[0].name, key[1])), key=itemgetter(0)):
            pks = [pk for _, pk in group]
            try:
                html = panel.draw(pks, oob=True)
            except Exception:  # nor one kind of panel the others
                log.exception("panel %s cannot be rendered", panel.name)
            else:
                shown = pks if not panel.is_needed else [pk for pk in pks if pk in html]
                html_of_key.update({(panel, pk): html.get(pk) or _removal(panel.dom_id(pk)) for pk in shown})
        REDRAWS.add(len(html_of_key))
        return html_of_key
    finally:
        _tidy()


def _tidy() -> None:
    """Close a broken connection; on SQLite a working one stays open, because opening one is expensive."""
    # The threads serve no requests, so Django's own clean-up between requests does not reach them.
    if connection.vendor == "sqlite":
        connection.close_at = None
    close_old_connections()


def _removal(dom_id: str) -> str:
    return f'<div id="{dom_id}" hx-swap-oob="delete"></div>'
