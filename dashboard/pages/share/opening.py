"""Openings of a share link: the cookie of a browser that opened it, and the limit on passwords."""

from __future__ import annotations

from collections.abc import Mapping

from django.core import signing
from django.http import HttpRequest, HttpResponse

from dashboard.security.actor import actor_of
from dashboard.security.address import network_of
from dashboard.security.attempts import Attempts
from dashboard.security.shared_view import SharedView
from recorder.models import ShareLink

COOKIE = "loopscope_share"
SALT = "share-link"
OPEN_S = 12 * 3_600  # after this a browser is counted again, and asked for the password again
WINDOW_S = 600.0
TRIES = 5  # for one link from one address
LINK_TRIES = 50  # for one link from anywhere

attempts = Attempts("share", window_s=WINDOW_S)


def tries_left(request: HttpRequest, link: ShareLink) -> bool:
    """Count an attempt at a password; return whether it is allowed."""
    if attempts.count((str(link.pk), network_of(request))) > TRIES:
        return False
    return attempts.count((str(link.pk), "")) <= LINK_TRIES


def is_makers(request: HttpRequest, link: ShareLink) -> bool:
    """Whether the person who made the link opens it, to see what its readers see."""
    return bool(request.user.pk == link.created_by_id)


def reader_of(request: HttpRequest) -> str:
    """Return for whom an opening is noted: the name of the user, or the network of somebody unknown."""
    return actor_of(request).name or network_of(request)


def is_open(cookies: Mapping[str, str], link: ShareLink) -> bool:
    """Whether the browser opened the link, with its password if it has one."""
    try:
        opened = signing.loads(cookies.get(COOKIE, ""), salt=SALT, max_age=OPEN_S)
    except signing.BadSignature:
        return False
    return bool(opened == link.pk)


def keep_open(request: HttpRequest, response: HttpResponse, shared: SharedView) -> None:
    """Set the cookie; browsers send it to this link only."""
    response.set_cookie(
        COOKIE,
        signing.dumps(shared.link.pk, salt=SALT),
        max_age=OPEN_S,
        path=shared.address,
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )
