"""Serves a share link: `/s/<secret>`, and the pages and fragments of its record below it.

A request is passed to the view of the page itself, as a request without a user that carries the link
(`SharedView`); its response goes through `html_filter`. Whatever does not exist, is not of the record or has
ended gets one answer, `share/ended.html` with status 404.
"""

from __future__ import annotations

from copy import copy
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.pages.share import opening
from dashboard.pages.share.addresses import Addresses
from dashboard.pages.share.html_filter import filtered
from dashboard.pages.share.mask import CountingMask, mask_of, masks_of
from dashboard.pages.share.scope import Scope
from dashboard.rendering.shared_page import render_masked
from dashboard.security.actor import actor_of
from dashboard.security.shared_view import SharedView
from dashboard.web.appearance import keep, look
from recorder.access import share_links
from recorder.core.records import Json
from recorder.models import ShareLink
from recorder.operations import audit

if TYPE_CHECKING:
    from collections.abc import Callable

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}
WRONG = "Wrong password."
TOO_MANY = "Too many attempts. Wait ten minutes, then try again."


def through_link(
    view: Callable[[HttpRequest, SharedView, str], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Decorate a view: pass the link of the URL and the rest of the path; set the headers of every answer."""

    @wraps(view)
    def guarded(request: HttpRequest, secret: str, rest: str = "") -> HttpResponse:
        link = share_links.find(secret)
        try:
            response = view(request, SharedView(link, secret), rest) if link else ended(request)
        except (Http404, PermissionDenied):
            response = ended(request)
        for name, value in HEADERS.items():
            response[name] = value
        return response

    return guarded


# The password form acts for no user, so there is nothing to forge; and with no referrer browsers send it
# without an origin, which the check of tokens refuses.
@csrf_exempt
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
@through_link
def start(request: HttpRequest, shared: SharedView, _rest: str) -> HttpResponse:
    """Show the record; with a password, the form that asks for it first."""
    if request.method == "POST":
        return _try(request, shared)
    return _open_link(request, shared, Scope(shared.link).start)


@require_safe
@through_link
def below(request: HttpRequest, shared: SharedView, rest: str) -> HttpResponse:
    """Show a page or fragment of the record."""
    return _open_link(request, shared, rest)


@csrf_exempt
@require_POST
@through_link
def theme(request: HttpRequest, shared: SharedView, _rest: str) -> HttpResponse:
    """Store the theme in a cookie and show the record again."""
    return keep(request, redirect(shared.address))


@require_safe
def nothing(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Answer a path that no link can have as one that ended."""
    response = ended(request)
    for name, value in HEADERS.items():
        response[name] = value
    return response


def ended(request: HttpRequest) -> HttpResponse:
    """Answer 404: the same for a link that ended, was revoked or never was, and for what it does not show."""
    return HttpResponse(render_to_string("share/ended.html", dict(look(request))), status=404)


def _try(request: HttpRequest, shared: SharedView) -> HttpResponse:
    if not shared.link.password:
        return redirect(shared.address)
    if not opening.tries_left(request, shared.link):
        response = _password_form(request, shared, TOO_MANY, 429)
        response["Retry-After"] = str(int(opening.WINDOW_S))
        return response
    if not share_links.is_password(shared.link, request.POST.get("password", "")):
        return _password_form(request, shared, WRONG, 403)
    return _count_opening(request, shared, redirect(shared.address))


def _open_link(request: HttpRequest, shared: SharedView, path: str) -> HttpResponse:
    if opening.is_open(request.COOKIES, shared.link):
        return _page(request, shared, path)
    if shared.link.password:
        return _password_form(request, shared)
    return _count_opening(request, shared, _page(request, shared, path))


def _count_opening(request: HttpRequest, shared: SharedView, response: HttpResponse) -> HttpResponse:
    """Count an opening: once for a browser, which gets a cookie. Raises Http404 if the link just ended.

    The maker of the link is not counted.
    """
    link = shared.link
    if not opening.is_makers(request, link):
        with transaction.atomic():
            if not share_links.count_opening(link):
                raise Http404
            if share_links.note_opening(link, opening.reader_of(request)):
                _note(request, link)
    opening.keep_open(request, response, shared)
    return response


def _note(request: HttpRequest, link: ShareLink) -> None:
    after: Json = {"link": link.pk, "openings": share_links.openings_of(link)}
    audit.record(link.project, actor_of(request), "share.open", share_links.label(link), after=after)


def _password_form(
    request: HttpRequest, shared: SharedView, problem: str = "", status: int = 200
) -> HttpResponse:
    """Return the form that asks for the password; it says nothing of the record."""
    shown = {**look(request), "problem": problem, "address": shared.address}
    return HttpResponse(render_to_string("share/password.html", shown), status=status)


def _page(request: HttpRequest, shared: SharedView, path: str) -> HttpResponse:
    """Return what the view of a page answers. Raises Http404 for what is not of the record."""
    try:
        match = resolve(f"/p/{shared.project.slug}/{path}")
    except Resolver404 as error:
        raise Http404 from error
    scope, name = Scope(shared.link), match.url_name or ""
    numbers = {key: value for key, value in match.kwargs.items() if isinstance(value, int)}
    inner = _inner(request, shared, f"/p/{shared.project.slug}/{path}")
    inner.GET = scope.query(name, request.GET)  # type: ignore[assignment]  # immutable from here on
    inner.META["QUERY_STRING"] = urlencode(list(_pairs(inner)))
    inner.resolver_match = match
    if not scope.reaches(name, numbers, inner.GET) or not scope.is_inside(name, numbers):
        raise Http404
    mask = CountingMask(mask_of(shared.link))
    with shared.shown(), render_masked(masks_of(shared.link, mask)):
        response = match.func(inner, *match.args, **match.kwargs)
    return _as_shown(response, Addresses(shared, request.get_host()), mask)


def _inner(request: HttpRequest, shared: SharedView, path: str) -> HttpRequest:
    """Return the request that a page gets: of the link instead of a user."""
    inner = copy(request)
    inner.META = {**request.META}
    inner.path = inner.path_info = path
    inner.user = AnonymousUser()
    inner.shared_view = shared  # type: ignore[attr-defined]  # read by `shared_view` alone
    return inner


def _pairs(request: HttpRequest) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, values in request.GET.lists() for value in values]


def _as_shown(response: HttpResponse, addresses: Addresses, mask: CountingMask) -> HttpResponse:
    """Return the response as the link shows it. Raises Http404 for one that it does not show."""
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    if isinstance(response, HttpResponseRedirect):
        target = addresses.target(response.url)
        if target.fate != "own":
            raise Http404
        return HttpResponseRedirect(target.url)
    is_missing = response.status_code >= HTTPStatus.BAD_REQUEST  # its page is one of the house
    if (
        response.streaming
        or is_missing
        or (kind not in ("text/html", "text/plain") and not kind.startswith("image/"))
    ):
        raise Http404
    if kind == "text/html":
        html = filtered(response.content.decode(), addresses, mask)
        response.content = _with_count(html, len(mask.marks)).encode()
    elif kind == "text/plain":
        response.content = mask(response.content.decode()).encode()
    return response


def _with_count(html: str, masked: int) -> str:
    """Return a page whose bar says how many different values the link masks on it; 0 says nothing."""
    if not masked:
        return html
    words = f'title="Different values on this page">{masked} value{"" if masked == 1 else "s"} masked'
    return html.replace('class="share-masked">Masked', f'class="share-masked" {words}', 1)
