"""`/p/<slug>/attention/feed`: the lifecycle channel of one project as rows of the page, live only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlencode

from django.db import close_old_connections
from django.template.loader import render_to_string

from dashboard.lifecycle.events import Frame, Ring
from dashboard.lifecycle.notification_policy import BLOCKED, POLICY, key
from dashboard.lifecycle.sse_endpoint import lifecycle
from dashboard.live.renderer import DRAWING
from dashboard.pages.attention.queries.feed import Whose, whose
from recorder.database.errors import STORE_ERRORS
from recorder.ingest.auth import Receive, Scope, Send

log = logging.getLogger(__name__)

GATHER_S = 0.2  # what rings in such a time is drawn at once
SHOWN = 50  # of what is drawn at once, the latest


@dataclass(frozen=True, slots=True)
class Row:
    """One ring as the feed shows it."""

    at: datetime
    glyph: str
    type: str
    words: str
    url: str
    is_quiet: bool  # nothing that asks for a person
    session_id: str
    session: Whose | None


async def feed(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one open page until it leaves."""
    query = urlencode({"project": scope["url_route"]["kwargs"]["slug"]}).encode()
    await lifecycle({**scope, "query_string": query}, receive, send, tell=_tell)


async def _tell(rings: Sequence[Ring]) -> bytes:
    if not rings:
        return b""
    await asyncio.sleep(GATHER_S)
    html = await asyncio.get_running_loop().run_in_executor(DRAWING, partial(_drawn, rings[-SHOWN:]))
    lines = "".join(f"data: {line}\n" for line in html.splitlines())
    return f"event: rows\n{lines}\n".encode() if lines else b""


def _drawn(rings: Sequence[Ring]) -> str:
    close_old_connections()
    try:
        named = whose(rings[0].project, {str(ring.frame["session_id"]) for ring in rings})
    except STORE_ERRORS:
        log.warning("the feed of the attention page could not ask whose rings these are")
        named = {}
    finally:
        close_old_connections()
    rows = [row(ring.frame, named.get(str(ring.frame["session_id"]))) for ring in rings]
    return render_to_string("attention/feed_rows.html", {"rows": rows})


def row(frame: Frame, session: Whose | None) -> Row:
    """Return what the feed shows of a frame."""
    policy = POLICY.get(key(frame))
    return Row(
        at=datetime.fromtimestamp(int(frame["at"]) / 1000, UTC),
        glyph=policy.glyph if policy else "running",
        type=str(frame["type"]),
        words=BLOCKED if frame.get("pending_approval") is True else str(frame.get("reason", "")),
        url=str(frame.get("url", "")),
        is_quiet=policy is None or not policy.says,
        session_id=str(frame["session_id"]),
        session=session,
    )
