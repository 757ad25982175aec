"""Views that make, list and revoke share links. Members make links; admins see all links of the project."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.pages.share import queries
from dashboard.pages.share.params import LIFETIMES, USUAL, query_of, target_of, terms_of
from dashboard.security.access import HtmxRequest, may, member, next_place, require, rights
from dashboard.security.actor import actor_of
from dashboard.web import links
from recorder.access import share_links
from recorder.access.rights import Right
from recorder.access.share_links import Issued, Kind, Target
from recorder.core.records import Json
from recorder.models import Project, ShareLink
from recorder.operations import audit


@require_safe
@member
def index(request: HtmxRequest, project: Project) -> HttpResponse:
    """Show all links of the project to its admins."""
    user = require(request, project, Right.MANAGE_SHARE_LINKS)
    shown = {
        "project": project,
        "page": "settings",
        "may": rights(request.user, project),
        "ws_url": links.live(project.slug, "share"),
        "rows": queries.links_of_project(project, user),
        "most": queries.SHOWN,
    }
    return render(request, "share/index.html", shown)


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
@member
def record(request: HtmxRequest, project: Project, kind: Kind) -> HttpResponse:
    """Show the links of a record and the form of a new one; make a link and show it once."""
    user = require(request, project, Right.MAKE_SHARE_LINKS)
    target = target_of(kind, request.GET)
    target_record = queries.record_of(project, user, target) if target else None
    if target is None or target_record is None:
        raise Http404
    if request.method != "POST":
        return _dialog(request, project, target, target_record)
    terms = terms_of(request.POST, target_record.newest)
    with transaction.atomic():
        shown = replace(target, query=target_record.query or target.query)
        issued = share_links.issue(project, user, shown, terms)
        name = share_links.label(issued.link)
        audit.record(project, actor_of(request), "share.create", name, after=_terms(issued.link))
    return _dialog(request, project, target, target_record, issued)


@require_POST
@member
def revoke(request: HtmxRequest, project: Project, pk: int) -> HttpResponse:
    """Revoke a link of one's own; admins any link of the project."""
    user = require(request, project, Right.MAKE_SHARE_LINKS)
    link = queries.link_of(project, pk)
    if link is None:
        raise Http404
    if link.created_by_id != user.pk and not may(user, project, Right.MANAGE_SHARE_LINKS):
        raise PermissionDenied
    with transaction.atomic():
        if share_links.revoke(link):
            name = share_links.label(link)
            audit.record(project, actor_of(request), "share.revoke", name, after={"link": link.pk})
    target = queries.target_of_link(link)
    target_record = queries.record_of(project, user, target) if request.htmx else None
    if target_record is not None:
        return _dialog(request, project, target, target_record)
    return redirect(next_place(request, request.POST.get("next", "")), permanent=False)


def _dialog(
    request: HtmxRequest,
    project: Project,
    target: Target,
    target_record: queries.Record,
    issued: Issued | None = None,
) -> HttpResponse:
    is_admin = may(request.user, project, Right.MANAGE_SHARE_LINKS)
    user = require(request, project, Right.MAKE_SHARE_LINKS)
    shown = {
        "project": project,
        "page": "sessions" if target.kind == "session" else "evaluations",
        "record": target_record,
        "kind": ShareLink.Kind(target.kind).label.lower(),
        "url": f"{reverse('share-record', args=[project.slug, target.kind])}?{query_of(target)}",
        "lifetimes": LIFETIMES,
        "usual": USUAL,
        "has_notes": target.kind in ("session", "evaluation"),
        "rows": queries.links_of(project, user, target, is_admin=is_admin),
        "is_admin": is_admin,
        "issued": issued,
        "new_url": request.build_absolute_uri(f"/s/{issued.secret}") if issued else "",
    }
    status = HTTPStatus.CREATED if issued else HTTPStatus.OK
    return render(request, f"share/{'dialog' if request.htmx else 'record'}.html", shown, status=status)


def _terms(link: ShareLink) -> Json:
    return {
        "link": link.pk,
        "expires_at": link.expires_at.isoformat(timespec="seconds"),
        "password": bool(link.password),
        "masked": link.is_masked,
        "notes": link.has_notes,
        "frozen": link.event is not None,
    }
