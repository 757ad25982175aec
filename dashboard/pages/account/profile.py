"""The reader's own account: name, e-mail, password, and the browsers in which it is signed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import PermissionDenied, ValidationError
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.account import queries
from dashboard.pages.account.throttle import tries_left_of
from dashboard.security import signins as noted
from dashboard.security.actor import actor_of
from recorder.access import profiles, signins
from recorder.operations import audit
from recorder.operations.people import users
from recorder.operations.people.errors import Refused

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_safe
@login_required
def account(request: HttpRequest) -> HttpResponse:
    """Show the account."""
    return _page(request)


@require_POST
@login_required
def change(request: HttpRequest) -> HttpResponse:
    """Change the shown name, the e-mail address and the time zone."""
    zone = request.POST.get("zone", "")
    name = " ".join(request.POST.get("name", "").replace("\0", " ").split())
    try:
        users.change_profile(
            _user(request),
            actor_of(request),
            full_name=name,
            email=request.POST.get("email", "").strip(),
            time_zone=zone,
        )
    except Refused as error:
        return _page(request, str(error), 400)
    request.session[noted.ZONE] = zone
    return redirect("account")


@sensitive_post_parameters()
@require_POST
@login_required
def change_password(request: HttpRequest) -> HttpResponse:
    """Set a password; the old one is asked for if there is one. All other sign-ins end."""
    user, password = _user(request), request.POST.get("new", "")
    if user.has_usable_password():
        if not tries_left_of(request, user.get_username()):
            return _page(request, "Too many attempts. Wait a minute, then try again.", 429)
        if not user.check_password(request.POST.get("old", "")):
            return _page(request, "The old password is wrong.", 400)
    try:
        validate_password(password, user)
    except ValidationError as error:
        return _page(request, " ".join(error.messages), 400)
    if password != request.POST.get("again", ""):
        return _page(request, "The two new passwords differ.", 400)
    users.set_password(user, actor_of(request), password)
    request.session.create()  # the sign-in of this browser ended with the others, and begins anew
    update_session_auth_hash(request, user)
    noted.note(None, request, user)
    return redirect("account")


@require_POST
@login_required
def end_signin(request: HttpRequest) -> HttpResponse:
    """End the sign-in `which`, or without it all but this one."""
    user, which = _user(request), request.POST.get("which", "")
    if which.isascii() and which.isdecimal() and len(which) < 19:
        ended = signins.end(user, int(which))
    else:
        ended = signins.end_all(user, but=request.session.session_key or "") > 0
    if ended:
        audit.record(None, actor_of(request), "signin.end", user.get_username())
    return redirect("account")


def _user(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def _page(request: HttpRequest, problem: str = "", status: int = 200) -> HttpResponse:
    user = _user(request)
    shown = {
        "page": "account",
        "problem": problem,
        "signins": signins.of_user(user),
        "this_key": request.session.session_key,
        "has_factors": settings.LOOPSCOPE_SSO,
        "has_password": user.has_usable_password(),
        "zones": profiles.time_zones(),
        "projects": queries.projects_and_roles(user),
    }
    return render(request, "account/account.html", shown, status=status)
