"""Waits for spans that were acknowledged before a request: for those of its project alone, and for a moment.

A page and the read API then show what is there, and say how many seconds it is behind.

Invariant: no request waits longer than `WAIT_S`, looking up its project included. Cost: nothing while no
spans wait, which is nearly always; else one query.
"""

from __future__ import annotations

import re
from asyncio import timeout
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from typing import Any
from urllib.parse import parse_qs

from dashboard.server.queries import the_project
from recorder.access import share_links, tokens
from recorder.asgi.scope import Scope, Send, header
from recorder.database.errors import Busy
from recorder.ingest.auth import in_thread
from recorder.ingest.commit.writer import writer

WAIT_S = 0.2
BEHIND = b"loopscope-behind-seconds"  # header of an answer of the API
IN_SCOPE = "spans_behind"  # of a page: `_shared/document/behind.html` reads it
UNKNOWN = "unknown"
_PAGE = re.compile(r"/p/([-\w]+)(?:/|\Z)")
_SHARED = re.compile(r"/s/([\w-]+)(?:/|\Z)")
_API = re.compile(r"/api/v1/")
# A thread of its own: no check of a token of a sender may wait behind readers.
_EXECUTOR = ThreadPoolExecutor(max_workers=1, thread_name_prefix="waiting-spans")


async def behind(scope: Scope) -> str:
    """Wait up to `WAIT_S` for the spans of the project of a request.

    Returns how many seconds ago the oldest one that is not read was acknowledged, "" if this process knows
    of none, and `UNKNOWN` if spans wait and whether they are of the project is unknown.
    """
    seconds = await _behind_s(scope)
    return UNKNOWN if seconds is None else str(seconds or "")


def with_header(send: Send, behind: str) -> Send:
    """Return `send` that adds the header `BEHIND` to a successful answer if there is something to say."""
    if not behind:
        return send

    async def send_with_header(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start" and 200 <= message["status"] < 300:
            headers = [*message.get("headers", ()), (BEHIND, behind.encode())]
            message = {**message, "headers": headers}
        await send(message)

    return send_with_header


async def _behind_s(scope: Scope) -> int | None:
    """Return the seconds of `behind`; 0 if no spans wait or the request is of no project, None if unknown."""
    if not writer().backlog or not _is_of_a_project(scope["path"]):
        return 0
    project = None
    try:
        async with timeout(WAIT_S):
            project = await in_thread(lambda: _project(scope), _EXECUTOR)
            if project is not None:
                await writer().spans_read(project)
                return 0
    except (Busy, TimeoutError):
        pass
    return None if project is None else ceil(writer().backlog.oldest_s(project))


def _is_of_a_project(path: str) -> bool:
    return any(kind.match(path) for kind in (_PAGE, _SHARED, _API))


def _project(scope: Scope) -> int | None:
    """Return the primary key of the project that a request would read; None if it is unknown.

    Whether it may read it is decided elsewhere, and an answer that refuses says nothing of what waits.
    """
    if match := _SHARED.match(scope["path"]):
        link = share_links.find(match[1])
        return link.project_id if link else None
    bearer = tokens.bearer(header(scope["headers"], b"authorization") or "")
    if bearer is not None:
        token = tokens.look_up(bearer)
        return token.project if token else None
    match = _PAGE.match(scope["path"])
    slug = match[1] if match else parse_qs(scope["query_string"].decode("latin-1")).get("project", [""])[-1]
    return None if "\0" in slug else the_project(slug)  # PostgreSQL refuses the character
