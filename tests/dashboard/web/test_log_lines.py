"""Log lines: one for a refusal, and never the secret of a sign-in link."""

import logging

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.web.log_lines import without_traceback
from recorder.access import signin_links, tokens
from recorder.models import Membership, Project

HANDLER = next(
    each for each in logging.getLogger().handlers if each.formatter and "Line" in repr(each.formatter)
)


def lines(caplog):
    """Return what the server's handler writes for the records."""
    return [HANDLER.formatter.format(each) for each in caplog.records if HANDLER.filter(each)]


def test_a_refused_role_is_one_line_without_a_traceback(client, db, caplog):
    project = Project.objects.create(slug="default")
    viewer = User.objects.create_user("vera")
    Membership.objects.create(project=project, user=viewer, role=Membership.Role.VIEWER)
    client.force_login(viewer)

    answer = client.post(f"/p/{project.slug}/settings/retention", {"days": "5"})

    assert answer.status_code == 403
    (line,) = lines(caplog)
    assert "Forbidden" in line
    assert "\n" not in line


@pytest.mark.parametrize("method", ["post", "put"])
def test_a_refused_post_to_a_sign_in_link_does_not_log_the_link(db, caplog, method):
    secret = signin_links.issue(User.objects.create_user("ada"))
    strict = Client(enforce_csrf_checks=True)

    answer = getattr(strict, method)(f"/signin/{secret}")

    assert answer.status_code in (403, 405)
    (line,) = lines(caplog)
    assert "/signin/[hidden]" in line
    assert secret not in line


@pytest.mark.parametrize("after", ["/", "//x", "%2F", "?next=/", ";x", "\u202e"])
@pytest.mark.parametrize("host", ["testserver", "evil.test"])
def test_no_spelling_of_a_refused_link_is_logged(db, caplog, after, host):
    secret = signin_links.issue(User.objects.create_user("ada"))

    answer = Client(enforce_csrf_checks=True).post(f"/signin/{secret}{after}", HTTP_HOST=host)

    assert answer.status_code in (400, 403, 404)
    found = lines(caplog)
    assert found
    assert not [line for line in found if secret in line or "Traceback" in line]


@pytest.mark.parametrize(
    "path",
    [
        "/SignIn/",
        "/SIGNIN/",
        "/signin//",
        "/signin/%20",
        "/signin/%E2%80%AE",
        "/%73ignIn/",
        "/x/SignIn/",
    ],
)
def test_a_link_is_hidden_however_its_path_is_spelled(db, caplog, path):
    secret = signin_links.issue(User.objects.create_user("ada"))

    assert Client(enforce_csrf_checks=True).post(f"{path}{secret}").status_code in (403, 404)
    found = lines(caplog)
    assert found
    assert not [line for line in found if secret in line]


@pytest.mark.parametrize("path", ["/join/", "/Join/", "/s/", "/S/"])
def test_secrets_of_invites_and_share_links_are_hidden(db, caplog, path):
    assert Client(enforce_csrf_checks=True).put(f"{path}a-secret/more").status_code in (403, 404, 405)
    found = lines(caplog)
    assert found
    assert not [line for line in found if "a-secret" in line]


@pytest.mark.parametrize(
    "text",
    [
        "/signin%2Fa-secret",
        "%2fSignIn%2f%2fa-secret?next=x",
        "/%53%69%67%6E%49%6E/a-secret",
        "https://x/%6aoin/a-secret",
        "/%73%2Fa-secret/sessions",
    ],
)
def test_an_address_that_was_not_decoded_is_hidden(text):
    line = HANDLER.formatter.format(logging.LogRecord("x", logging.ERROR, "", 1, text, (), None))
    assert "[hidden]" in line
    assert "a-secret" not in line


@pytest.mark.parametrize("text", ["/p/default/sessions/12", "/signin", "/sign/in", "/joined/x", "a /src/b"])
def test_other_addresses_are_readable(text):
    line = HANDLER.formatter.format(logging.LogRecord("x", logging.ERROR, "", 1, text, (), None))
    assert line.endswith(text)


@pytest.mark.parametrize("scopes", [None, ["ingest"]], ids=["no token", "wrong scope"])
def test_a_refused_request_to_the_read_api_is_at_most_one_line(client, db, caplog, scopes):
    project = Project.objects.create(slug="default")
    headers = {"Authorization": f"Bearer {tokens.issue(project, 'agent', scopes)}"} if scopes else {}

    answer = client.get("/api/v1/sessions", headers=headers)

    assert answer.status_code == (403 if scopes else 401)
    found = lines(caplog)
    assert len(found) <= 1
    assert not [line for line in found if "\n" in line or "lsk_" in line]


@pytest.mark.parametrize(
    "path",
    ["costs/prices", "costs/prices/withdraw", "costs/reprice", "settings/title", "settings/tokens", "demo"],
)
def test_what_a_viewer_may_not_do_is_one_line_each(client, db, caplog, path):
    project = Project.objects.create(slug="default")
    viewer = User.objects.create_user("vera")
    Membership.objects.create(project=project, user=viewer, role=Membership.Role.VIEWER)
    client.force_login(viewer)

    assert client.post(f"/p/{project.slug}/{path}").status_code == 403
    (line,) = lines(caplog)
    assert "\n" not in line


def test_a_used_link_is_not_logged(client, db, caplog):
    client.post("/signin/a-secret-that-was-used")

    (line,) = lines(caplog)
    assert "a-secret-that-was-used" not in line


def test_a_secret_in_a_traceback_is_masked_and_a_bug_keeps_its_traceback():
    error = RuntimeError("/signin/a-secret?next=x")
    record = logging.LogRecord("x", logging.ERROR, "", 1, "Error: %s", ("/signin/a-secret",), None)
    record.exc_info = (RuntimeError, error, None)
    record.status_code = 500

    assert without_traceback(record)
    line = HANDLER.formatter.format(record)
    assert "RuntimeError: /signin/[hidden]?next=x" in line
    assert "a-secret" not in line
