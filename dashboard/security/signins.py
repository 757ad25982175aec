"""Open sign-ins: noted when one begins, and while it is used. A middleware and a signal's receiver."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.contrib.auth.models import User

from dashboard.security.address import address_of
from recorder.access import profiles, signins
from recorder.database.errors import STORE_ERRORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

SEEN = "seen"  # when the session was noted last, in seconds since the epoch
ZONE = "zone"  # the time zone of the user's profile, "" for that of the browser
EVERY_S = signins.SEEN_EVERY.total_seconds()


def zone_of(request: HttpRequest) -> tzinfo:
    """Return the time zone of the user's profile; UTC if it is that of the browser, which a request lacks."""
    try:
        return ZoneInfo(name) if (name := str(request.session.get(ZONE) or "")) else UTC
    except (ValueError, ZoneInfoNotFoundError):  # the system's list of zones has changed
        return UTC


class SignIns:
    """Middleware that notes at most every five minutes that a signed-in browser is used."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with suppress(*STORE_ERRORS):  # the page itself answers that the database is unavailable
            self._note_use(request)
        return self.get_response(request)

    def _note_use(self, request: HttpRequest) -> None:
        session = request.session
        if session.get("_auth_user_id") and time.time() - session.get(SEEN, 0) > EVERY_S:
            user = request.user
            if isinstance(user, User) and session.session_key:
                if SEEN in session:
                    signins.note_use(session.session_key)
                    session[SEEN] = time.time()
                    session[ZONE] = profiles.time_zone(user)
                else:  # the sign-in began before sign-ins were noted
                    note(None, request, user)


def note(sender: object, request: HttpRequest, user: User, **_: object) -> None:
    """Note that a sign-in begins; receiver of `user_logged_in`."""
    if request.session.session_key is None:
        request.session.save()
    agent = request.headers.get("User-Agent", "")
    signins.begin(user, str(request.session.session_key), address_of(request), agent)
    request.session[SEEN] = time.time()
    request.session[ZONE] = profiles.time_zone(user)
