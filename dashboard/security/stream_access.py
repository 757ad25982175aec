"""Middleware: a streaming response ends when its reader loses the right to read the project.

Downloads, exports and recorded lines are sent while they are read, which takes minutes for a slow client. It
wraps every streaming response of a project, so that no view can forget it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, AsyncIterator, Callable
from functools import partial
from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils.deprecation import MiddlewareMixin

from dashboard.security import recheck
from dashboard.security.access import Reader
from dashboard.security.recheck import Bearer, SignIn, still
from recorder.access import tokens
from recorder.access.rights import Right
from recorder.database.errors import Busy


class AccessLost(Exception):
    """The reader may not read the rest. Raised while a response is sent, which then breaks off."""


class StreamAccess(MiddlewareMixin):
    """Innermost middleware: the user and the matched route are known."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Wrap the content of an asynchronous streaming response."""
        if isinstance(response, StreamingHttpResponse) and response.is_async:
            check = _check(request)
            if check is not None:
                content = cast("AsyncIterable[bytes]", response.streaming_content)
                response.streaming_content = while_access_holds(content, check)
        return response


async def while_access_holds(
    chunks: AsyncIterable[bytes], check: Callable[[], bool], clock: Callable[[], float] = time.monotonic
) -> AsyncIterator[bytes]:
    """Yield chunks; check again before one that comes `RECHECK_S` after a check. Raises AccessLost."""
    checked_at = clock()
    async for chunk in chunks:
        if clock() - checked_at > recheck.RECHECK_S:
            if not await _holds(check):
                raise AccessLost
            checked_at = clock()
        yield chunk


async def _holds(check: Callable[[], bool]) -> bool:
    try:
        return await still(check)
    except Busy:
        return True


def _check(request: HttpRequest) -> Callable[[], bool] | None:
    """Return the check of a request's reader and project; None if it has none of both."""
    found: Reader | None = getattr(request, "auth", None)  # of django-ninja
    match = request.resolver_match
    slug = found.project.slug if found else match.kwargs.get("slug") if match else None
    bearer = tokens.bearer(request.headers.get("Authorization", ""))
    if found and found.token and bearer:
        return partial(Bearer(bearer).has, found.project.pk, Right.READ)
    if slug and isinstance(request.user, User):
        return partial(SignIn.of(request.user, request.session.session_key).has, slug, Right.READ)
    return None
