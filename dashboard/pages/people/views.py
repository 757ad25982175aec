"""Views of a project's members. All members see the list; admins invite, change roles and remove.

Each form works without scripts and answers a redirect; only the answer that shows a new link is a page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.pages.people import queries
from dashboard.security.access import member, require, rights
from dashboard.security.actor import actor_of
from dashboard.security.attempts import Attempts
from dashboard.web import links
from dashboard.web.errors import refused
from recorder.access.rights import Right
from recorder.models import Invite, Membership, Project
from recorder.operations.people import invite_mail, invites, members
from recorder.operations.people.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.contrib.auth.models import User

MAILS, MAILS_WINDOW_S = 60, 3600.0  # of one project
TOO_MANY = f"this project sent {MAILS} in the last hour"

mails = Attempts("invites", window_s=MAILS_WINDOW_S)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the members and the open invites; make an invite."""
    if request.method != "POST":
        return _page(request, project)
    user = require(request, project, Right.MANAGE_MEMBERS)
    email = request.POST.get("email", "").strip()
    try:
        made = invites.issue(project, request.POST.get("role", ""), user, actor_of(request), email)
    except Refused as error:
        return _page(request, project, problem=str(error), status=400)
    return _new_link(request, project, *made)


@require_POST
@member
def change_role(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Change the role of a member."""
    require(request, project, Right.MANAGE_MEMBERS)
    try:
        members.set_role(project, _member(project, pk), request.POST.get("role", ""), actor_of(request))
    except Refused as error:
        return _page(request, project, problem=str(error), status=409)
    return redirect("people", project.slug)


@require_POST
@member
def remove(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Remove a member, confirmed by the member's name."""
    require(request, project, Right.MANAGE_MEMBERS)
    user = _member(project, pk)
    if request.POST.get("name", "").strip() != user.get_username():
        return _page(request, project, problem=f"Type {user.get_username()} to remove them.", status=400)
    try:
        members.remove(project, user, actor_of(request))
    except Refused as error:
        return _page(request, project, problem=str(error), status=409)
    return redirect("people", project.slug)


@require_POST
@member
def leave(request: HttpRequest, project: Project) -> HttpResponse:
    """Take the reader out of the project."""
    user = require(request, project, Right.READ)
    try:
        if not members.remove(project, user, actor_of(request)):
            return refused(request, "You are no member of this project: you see it as a superuser.")
    except Refused as error:
        return _page(request, project, problem=str(error), status=409)
    return redirect("/")


@require_POST
@never_cache
@member
def renew(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Give an invite a new link, show it once, and send it if that is asked for."""
    user = require(request, project, Right.MANAGE_MEMBERS)
    found = invites.renew(project, pk, user, actor_of(request))
    if found is None:
        raise Http404
    return _new_link(request, project, *found)


@require_POST
@member
def withdraw(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Withdraw an invite."""
    require(request, project, Right.MANAGE_MEMBERS)
    invites.withdraw(project, pk, actor_of(request))
    return redirect("people", project.slug)


def _new_link(request: HttpRequest, project: Project, invite: Invite, secret: str) -> HttpResponse:
    """Show a new link, and send it if the form asks for that; the invite is committed before."""
    link = request.build_absolute_uri(reverse("join", args=[secret]))
    is_sent, unsent = "mail" in request.POST and bool(invite.email) and invite_mail.is_possible(), ""
    if is_sent:
        is_allowed = mails.count((str(project.pk), "")) <= MAILS
        unsent = invite_mail.send(invite, link, actor_of(request)) if is_allowed else TOO_MANY
    shown = {"new_link": link, "invited": invite.email, "is_sent": is_sent, "unsent": unsent}
    return _page(request, project, shown)


def _member(project: Project, pk: int) -> User:
    user = queries.member_of(project, pk)
    if user is None:
        raise Http404
    return user


def _page(
    request: HttpRequest,
    project: Project,
    new: Mapping[str, object] | None = None,
    *,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    user = require(request, project, Right.READ)
    may = rights(user, project)
    shown = {
        "project": project,
        "page": "settings",
        "ws_url": links.live(project.slug, "people"),
        "members": queries.members(project, user),
        "invites": queries.invited(project) if may[Right.MANAGE_MEMBERS] else [],
        "roles": Membership.Role.choices,
        "may": may,
        "can_mail": invite_mail.is_possible(),
        "days": invites.LIFETIME.days,
        "problem": problem,
        **(new or {}),
    }
    return render(request, "people/index.html", shown, status=status)
