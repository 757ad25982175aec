"""Every page: no inline code, no foreign sources, and error pages that reveal no details."""

import re

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import get_resolver, path

from dashboard import urls
from dashboard.security.csp import POLICY
from dashboard.urls import handler400, handler403, handler404, handler500
from dashboard.web import errors
from dashboard.web.errors import INTERNAL, DatabaseUnavailable
from recorder.models import Project

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]


def bad(_, slug):
    raise SuspiciousOperation("secret")


def barred(_, slug):
    raise PermissionDenied("secret")


def bug(_, slug=""):
    raise RuntimeError("secret")


def absent(_, slug=""):
    raise OperationalError("secret")


# Of a server whose pages do not work, with the answers of ours.
urlpatterns = [path("bug", bug), path("api/v1/bug", bug), path("absent", absent), *urls.urlpatterns]
urlpatterns += [path(f"p/<slug:slug>/{view.__name__}", view) for view in (bug, absent, bad, barred)]

INLINE = re.compile(r"<style|<script(?![^>]*\bsrc=)|\bstyle=|\bon\w+=|javascript:", re.I)


@pytest.mark.parametrize(
    ("path", "status"),
    [("/signin", 200), ("/signin/abc", 200), ("/there-is-no-such-page", 404), ("/p/x/settings", 302)],
)
def test_a_page_holds_nothing_inline_and_nothing_foreign(client, db, path, status):
    answer = client.get(path)
    html = answer.content.decode()

    assert answer.status_code == status
    assert not INLINE.search(html)
    assert not re.search(r'(?:src|href)="(?:https?:)?//', html)


def test_the_start_page_redirects_to_the_sign_in_page(client, db):
    assert client.get("/")["Location"] == "/signin?next=/"


@pytest.mark.parametrize("name", ["400", "403", "403_csrf", "404", "405", "500", "503", "refused"])
def test_an_error_page_needs_neither_database_nor_request(name):
    html = render_to_string(f"{name}.html")

    assert "<h1>" in html
    assert not INLINE.search(html)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("method", "can_repeat"), [("get", True), ("post", False)])
def test_error_pages_keep_the_theme_and_reveal_no_details(theme, method, can_repeat):
    request = getattr(RequestFactory(), method)("/p/secret-name/sessions?q=secret-word")
    request.COOKIES["theme"] = theme
    bug, absent = (
        errors.server_error(request),
        DatabaseUnavailable(lambda _: None).process_exception(request, OperationalError("x")),
    )
    unread = errors.bad_request(request, ValueError("secret-word"))

    assert [answer.status_code for answer in (unread, bug, absent)] == [400, 500, 503]
    assert int(absent["Retry-After"]) >= 1
    for answer in (bug, absent, unread):
        html = answer.content.decode()
        assert f'data-theme="{theme}"' in html
        assert "secret" not in html
        assert not INLINE.search(html)
    for answer in (bug, absent):
        assert ("Try again</a>" in answer.content.decode()) is can_repeat
    assert DatabaseUnavailable(lambda _: None).process_exception(request, ValueError("a bug")) is None


def test_an_exception_is_answered_with_the_csp_and_no_traceback(settings):
    settings.ROOT_URLCONF = __name__
    answer = Client(raise_request_exception=False).get("/bug")
    html = answer.content.decode()

    assert answer.status_code == 500
    assert "No recorded data is lost" in html
    assert answer["Content-Security-Policy"] == POLICY
    for word in ("Traceback", "RuntimeError", "secret", "Django", "Python/"):
        assert word not in html


def test_an_exception_of_the_read_api_is_answered_in_json(settings):
    settings.ROOT_URLCONF = __name__
    answer = Client(raise_request_exception=False).get("/api/v1/bug")

    assert answer.status_code == 500
    assert answer.json() == {"code": "internal", "message": INTERNAL}


PATHS = {"bad": 400, "barred": 403, "no-such-page": 404, "insights/consolidate": 405, "bug": 500}


@pytest.mark.parametrize(("path", "status"), PATHS.items())
def test_error_pages_of_a_project_keep_its_navigation_for_its_members(settings, db, path, status):
    settings.ROOT_URLCONF = __name__
    project, user = Project.objects.create(slug="default"), User.objects.create_user("reader")
    client = Client(raise_request_exception=False)
    client.force_login(user)
    url = f"/p/default/{path}"

    assert "nav-list" not in client.get(url).content.decode()
    project.memberships.create(user=user)
    answer = client.get(url)
    assert answer.status_code == status
    assert 'href="/p/default/sessions"' in answer.content.decode()
    assert 'data-attention="' in answer.content.decode()
    assert "secret" not in answer.content.decode()
    assert not INLINE.search(answer.content.decode())


def test_a_form_without_a_csrf_token_is_answered_with_navigation_theme_and_advice(db):
    project, user = Project.objects.create(slug="default"), User.objects.create_user("reader")
    project.memberships.create(user=user)
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    client.cookies["theme"] = "dark"
    answer = client.post("/p/default/attention/seen")
    html = answer.content.decode()

    assert answer.status_code == 403
    assert "This form has expired" in html
    assert "Nothing was changed." in html
    assert 'href="/p/default/sessions"' in html
    assert 'data-theme="dark"' in html


def test_without_the_database_an_error_page_keeps_the_links_and_reads_nothing(
    settings, db, django_assert_num_queries
):
    settings.ROOT_URLCONF = __name__
    request = RequestFactory().get("/p/default/absent")
    request.COOKIES[settings.SESSION_COOKIE_NAME] = "of nobody"
    with django_assert_num_queries(0):
        answer = DatabaseUnavailable(lambda _: None).process_exception(request, OperationalError("x"))
    html = answer.content.decode()
    assert answer.status_code == 503
    assert 'href="/p/default/costs"' in html
    assert 'href="/p/default/integrity"' in html
    assert not INLINE.search(html)


@pytest.mark.parametrize("path", ["/p/default/absent", "/absent", "/p/<b>/absent"])
def test_without_the_database_a_visitor_without_a_session_sees_no_navigation(db, path):
    request = RequestFactory().get(path)
    answer = DatabaseUnavailable(lambda _: None).process_exception(request, OperationalError("x"))
    assert "nav-list" not in answer.content.decode()


def test_a_bug_in_the_navigation_does_not_hide_the_error(settings, db, monkeypatch):
    settings.ROOT_URLCONF = __name__
    Project.objects.create(slug="default")
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root"))
    monkeypatch.setattr("dashboard.security.access.projects_of", lambda user: 1 / 0)

    answer = client.get("/p/default/no-such-page")
    assert (answer.status_code, "Page not found" in answer.content.decode()) == (404, True)


def test_an_unavailable_database_is_answered_with_the_csp_and_retry_after(settings):
    settings.ROOT_URLCONF = __name__
    answer = Client().get("/absent")

    assert answer.status_code == 503
    assert answer["Content-Security-Policy"] == POLICY
    assert "Database unavailable" in answer.content.decode()
    assert "secret" not in answer.content.decode()


def test_an_unknown_host_or_page_reveals_no_path_and_no_version(client, db):
    answer = Client().get("/p/%00/x")

    assert answer.status_code == 404
    for word in ("Traceback", "Django", "/site-packages/", "Python/"):
        assert word not in answer.content.decode()


def routes_of(resolver, before=""):
    """Yield the route of every pattern, with those of what it includes."""
    for each in resolver.url_patterns:
        route = before + str(each.pattern)
        yield from routes_of(each, route) if hasattr(each, "url_patterns") else (route,)


@pytest.mark.parametrize("number", ["9" * 18, "9" * 19, "9" * 40])
def test_an_unknown_number_is_not_found_however_large(client, db, number):
    Project.objects.create(slug="default")
    client.force_login(User.objects.create_superuser("root"))
    routes = list(routes_of(get_resolver()))
    paths = [
        re.sub(r"<\w+:\w+>", number, each.replace("<slug:slug>", "default"))
        for each in routes
        if "<key:" in each
    ]
    answers = {path: client.get(f"/{path}").status_code for path in paths}

    assert len(answers) > 10
    assert set(answers.values()) <= {404, 405}, answers
