"""Sign in by link or password, sign out, choose a theme. No response reveals whether a user exists."""

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.pages.account.responses import BACKEND, secret_response
from dashboard.pages.account.throttle import tries_left
from dashboard.security.access import next_place
from dashboard.security.actor import actor_of, unknown
from dashboard.web.appearance import keep
from recorder.access import signin_links
from recorder.operations import audit

if settings.LOOPSCOPE_SSO:
    from dashboard.pages.account.sign_in_methods.steps import after_password, offered
else:
    from dashboard.pages.account.password_only import after_password, offered

WRONG = "Wrong user name or password."
TOO_MANY = "Too many attempts. Wait a minute, then try again."


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def signin(request: HttpRequest) -> HttpResponse:
    """Show the sign-in form, and how to get a sign-in link."""
    if request.method == "POST":
        return _try(request)
    if request.user.is_authenticated:
        return redirect(next_place(request, request.GET.get("next", "")))
    return secret_response(_form(request, request.GET.get("next", "")))


@require_http_methods(["GET", "HEAD", "POST"])
def link(request: HttpRequest, secret: str) -> HttpResponse:
    """Show a button that uses the link. A GET request does not use it, because mail scanners open links."""
    if request.method != "POST":
        return secret_response(render(request, "account/link.html", {"days": _days()}))
    user = signin_links.consume(secret)
    if user is None:
        audit.record(None, actor_of(request), "signin.refused", "link")
        return secret_response(render(request, "account/link_used.html", status=410))
    login(request, user, BACKEND)
    audit.record(None, actor_of(request), "signin", "link")
    return secret_response(redirect("/"))


@require_POST
def signout(request: HttpRequest) -> HttpResponse:
    """End the session."""
    if request.user.is_authenticated:
        audit.record(None, actor_of(request), "signout")
    logout(request)
    return redirect("signin")


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Store the theme in a cookie and redirect back."""
    return keep(request, redirect(next_place(request, request.POST.get("next", ""))))


def _try(request: HttpRequest) -> HttpResponse:
    after = request.POST.get("next", "")
    if not tries_left(request):
        response = _form(request, after, TOO_MANY, 429)
        response["Retry-After"] = "60"
        return secret_response(response)
    account = request.POST.get("username", "")
    form = AuthenticationForm(request, data=request.POST)
    if not form.is_valid():
        audit.record(None, unknown(request, account), "signin.refused", "password")
        return secret_response(_form(request, after, WRONG, 403))
    return secret_response(after_password(request, form.get_user(), next_place(request, after)))


def _form(request: HttpRequest, after: str, problem: str = "", status: int = 200) -> HttpResponse:
    username = request.POST.get("username", "")
    shown = {"next": after, "problem": problem, "username": username, "days": _days()}
    return render(request, "account/signin.html", shown | offered(request), status=status)


def _days() -> int:
    return settings.SESSION_COOKIE_AGE // 86_400
