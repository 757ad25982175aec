"""No export has a word of a deleted session, and no export is kept by the server."""

from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from recorder.models import Project, Session
from tests.dashboard.security.matrix.routes import routes
from tests.recorder.operations.test_deleted_bytes import WORD, record
from tests.support.journal_bytes import file_content

pytestmark = pytest.mark.django_db(transaction=True)
SHAPES = ("phi-session", "events", "html")
PROJECT = "p/<slug:slug>/"
ENDLESS = ("feed", "lifecycle")  # streams of events


@pytest.fixture
def browser(db):
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def lists():
    """Return the paths of all routes that name a project and no record, and of the API that name none."""
    for route in routes():
        inner = route.removeprefix(PROJECT) if route.startswith(PROJECT) else route
        if "<" in inner or route.endswith(ENDLESS):
            continue
        if route.startswith(PROJECT):
            yield f"/p/default/{inner}"
        elif route.startswith("api/v1/"):
            yield f"/{route}?project=default"


def with_word(browser):
    """Return the paths whose answer has the word."""
    found = set()
    for path in lists():
        answer = browser.get(path)
        if answer.status_code == 200 and not getattr(answer, "is_async", False) and WORD in answer.getvalue():
            found.add(path)
    return found


def exported(session_id, shape):
    out = StringIO()
    call_command("export_session", session_id, "--as", shape, stdout=out)
    return out.getvalue().encode()


def files_with_word():
    """Return the files of the data folder that have the word, without those of the database."""
    files = (path for path in Path(settings.DATA).rglob("*") if path.is_file() and "sqlite3" not in path.name)
    return [path for path in files if WORD in file_content(path)]


def test_no_list_page_or_export_has_the_word_afterwards(project, browser):
    Project.objects.update(retention_days=None)
    record(project, WORD)
    before = with_word(browser)
    assert {"/p/default/sessions.csv", "/p/default/sessions.json", "/p/default/sessions"} <= before
    assert any(path.startswith("/api/v1/") for path in before)
    own = list(Session.objects.filter(project=project).values_list("session_id", flat=True))
    native = [session for session in own if session == "own"]
    assert all(WORD in exported(session, shape) for session in native for shape in SHAPES)
    assert files_with_word() == []

    call_command("session", "delete", "--query", "age:>0s", "--yes", stdout=StringIO())

    assert with_word(browser) == set()
    for session in own:
        with pytest.raises(CommandError, match="no session"):
            exported(session, "events")
        assert browser.get(f"/api/v1/sessions/{session}/export?project=default").status_code == 404
    assert browser.get(f"/api/v1/search?project=default&q={WORD.decode()}").json()["items"] == []
