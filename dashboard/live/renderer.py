"""Drawing panels, in threads of its own: in Channels' one, a slow query would stall every socket."""

from __future__ import annotations

import logging
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from operator import itemgetter

from django.db import close_old_connections, connection

from dashboard.live.viewer import Key, Page, keys
from recorder.ingest.metrics import REDRAWS

log = logging.getLogger(__name__)

DRAWING = ThreadPoolExecutor(max_workers=2, thread_name_prefix="draw")


def whole_pages(pages: Collection[Page]) -> list[list[Key] | None]:
    """Return everything that each page shows, None where a page cannot tell."""
    _tidy()
    try:
        return [_whole_page(page) for page in pages]
    finally:
        _tidy()


def _whole_page(page: Page) -> list[Key] | None:
    try:
        return keys(page.dirty_panels(None))
    except Exception:  # a bug of one page must not stop what the others see
        log.exception("a page cannot tell what it shows")
        return None


def draw(wanted: Collection[Key]) -> dict[Key, str]:
    """Return the HTML of each panel: its removal if it is gone, nothing if it cannot be drawn."""
    _tidy()
    drawn: dict[Key, str] = {}
    try:
        for panel, group in groupby(sorted(wanted, key=lambda key: (key[0].name, key[1])), key=itemgetter(0)):
            pks = [pk for _, pk in group]
            try:
                html = panel.draw(pks, oob=True)
            except Exception:  # nor one panel the rest
                log.exception("panel %s cannot be drawn", panel.name)
            else:
                drawn.update({(panel, pk): html.get(pk) or _removal(panel.dom_id(pk)) for pk in pks})
        REDRAWS.add(len(drawn))
        return drawn
    finally:
        _tidy()


def _tidy() -> None:
    """Close a connection that no longer works. On SQLite one that does stays: to open one is dear."""
    if connection.vendor == "sqlite":
        connection.close_at = None
    close_old_connections()


def _removal(dom_id: str) -> str:
    return f'<div id="{dom_id}" hx-swap-oob="delete"></div>'
