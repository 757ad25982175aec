"""`/p/<slug>/attention/feed`: the lifecycle channel of one project as rows of HTML, live only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlencode

from django.conf import settings
from django.db import close_old_connections
from django.http import QueryDict
from django.template.loader import render_to_string

from dashboard.lifecycle.events import Frame, LifecycleEvent
from dashboard.lifecycle.notification_policy import BLOCKED, POLICY, WASTE, key
from dashboard.lifecycle.sse_endpoint import lifecycle
from dashboard.live.renderer import DRAWING
from dashboard.pages.attention.params import AttentionParams
from dashboard.pages.attention.queries.feed import FeedSession, sessions_by_id
from dashboard.query_conditions.box import parsed
from dashboard.security.authenticate import user_of
from dashboard.shared.waste.words import label
from recorder.asgi.scope import Receive, Scope, Send
from recorder.database.errors import STORE_ERRORS

log = logging.getLogger(__name__)

GATHER_S = 0.2  # events within this time are rendered together
SHOWN = 50  # rows per message; older events of a burst are dropped


@dataclass(frozen=True, slots=True)
class FeedRow:
    """One event as the feed shows it."""

    at: datetime
    glyph: str
    means: str  # "" for an event without a row in the policy
    type: str
    words: str
    url: str
    is_quiet: bool  # the notification policy has no text for it
    session_id: str
    session: FeedSession | None


async def feed(scope: Scope, receive: Receive, send: Send) -> None:
    """Stream to one open page until it disconnects."""
    query = urlencode({"project": scope["url_route"]["kwargs"]["slug"]}).encode()
    serialize = partial(_rows_as_sse, partial(_params, scope))
    await lifecycle({**scope, "query_string": query}, receive, send, serialize=serialize)


async def _rows_as_sse(params: Callable[[], AttentionParams], events: Sequence[LifecycleEvent]) -> bytes:
    if not events:
        return b""
    await asyncio.sleep(GATHER_S)
    html = await asyncio.get_running_loop().run_in_executor(DRAWING, partial(_draw, params, events[-SHOWN:]))
    lines = "".join(f"data: {line}\n" for line in html.splitlines())
    return f"event: rows\n{lines}\n".encode() if lines else b""


def _draw(params_of: Callable[[], AttentionParams], events: Sequence[LifecycleEvent]) -> str:
    """Return the rows of the events that the filters select."""
    close_old_connections()
    is_narrow = True
    try:
        params = params_of()
        is_narrow = params.has_sessions
        session_ids = {str(event.frame["session_id"]) for event in events}
        named = sessions_by_id(events[0].project, session_ids, params)
    except STORE_ERRORS:
        log.warning("the sessions of lifecycle events could not be read for the attention feed")
        named = {}
    finally:
        close_old_connections()
    rows = [row(event.frame, named.get(str(event.frame["session_id"]))) for event in events]
    shown = [each for each in rows if each.session or not is_narrow]
    return render_to_string("attention/feed_rows.html", {"rows": shown}) if shown else ""


def _params(scope: Scope) -> AttentionParams:
    """Return the filters; the user is read only for a query whose rows differ by who reads them."""
    query = QueryDict(scope["query_string"])
    params = AttentionParams.parse(query)
    if not parsed(params.q).is_personal:
        return params
    user = user_of(scope["cookies"].get(settings.SESSION_COOKIE_NAME))
    return AttentionParams.parse(query, user.pk)


def _words(frame: Frame) -> str:
    if frame["type"] == WASTE:
        return label(str(frame.get("rule", ""))).lower()
    return BLOCKED if frame.get("pending_approval") is True else str(frame.get("reason", ""))


def row(frame: Frame, session: FeedSession | None) -> FeedRow:
    """Return the row of a lifecycle event."""
    policy = POLICY.get(key(frame))
    return FeedRow(
        at=datetime.fromtimestamp(int(frame["at"]) / 1000, UTC),
        glyph=policy.glyph if policy else "running",
        means=policy.means if policy else "",
        type=str(frame["type"]),
        words=_words(frame),
        url=str(frame.get("url", "")),
        is_quiet=policy is None or not policy.says,
        session_id=str(frame["session_id"]),
        session=session,
    )
