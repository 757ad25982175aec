"""What holds for a link of each kind: all that it leads to is of its record, masked, and ends with it."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.pages.share import opening
from recorder.access import saved_views, tokens
from recorder.access.saved_views import Content
from recorder.models import ParallelGroupRecord, Project, SavedView, Session, ShareLink
from recorder.operations import deletion
from recorder.operations.audit import COMMAND
from tests.dashboard.pages.share.conftest import FOREIGN, MAIL, crawl, urls
from tests.support import build
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db(transaction=True)
KINDS = ("session", "evaluation", "sessions", "loops", "view", "evaluations")
ANSWER = f"Ask {MAIL}, she knows."


@pytest.fixture
def records(feed, session, project, person):
    """Record an evaluation, in a session with another loop, and a second session; things of the project."""
    one, two = Loop("ev", "one"), Loop("ev", "two")
    feed(build.parallel_start(one.id, two.id, session="ev"))
    for loop in (one, two):
        feed(loop.start(), loop.turn(), *loop.prompt(f"Whom? {MAIL}"))
        feed(loop.answering(), loop.answer(ANSWER), loop.turn_end(ANSWER), loop.end())
    feed(build.parallel_end(two.id, index=1, session="ev"))
    feed(*Loop("ev", f"{FOREIGN}-loop").whole(f"{FOREIGN} beside the branches"))
    feed(*Loop("beside", "b").whole(ANSWER))
    Session.objects.exclude(session_id__in=("shared", "beside")).update(agent_id="other")
    tokens.issue(project, f"{FOREIGN}-token", ["ingest"])
    person("admin", "admin")
    content = Content("?q=agent:other")
    saved_views.create(project, person("viewer").user, "sessions", f"{FOREIGN} saved", "project", content)


@pytest.fixture
def linked(records, session, share):
    """Make a link of a kind: `linked("view", password="…")` returns its path."""

    def linked(kind, **terms):
        group = ParallelGroupRecord.objects.get().pk
        loops = session.loop_records.order_by("pk").values_list("pk", flat=True)[:2]
        sessions = [session.pk, Session.objects.get(session_id="beside").pk]
        target = {
            "session": ("session", session.pk),
            "evaluation": ("evaluation", group),
            "sessions": ("comparison", 0, "&".join(f"of={pk}" for pk in sessions)),
            "loops": ("comparison", session.pk, "&".join(f"of={pk}" for pk in loops)),
            "view": ("view", 1, "sessions?q=agent:coder"),
            "evaluations": ("view", 1, "evaluations?q="),
        }
        return share(*target[kind], **terms)

    return linked


def words(answers):
    return unescape(" ".join(answer.content.decode() for answer in answers.values()))


@pytest.mark.parametrize("kind", KINDS)
def test_everything_that_a_link_leads_to_is_of_its_record_private_and_masked(linked, kind):
    path = linked(kind)
    answers = crawl(path)
    for at, answer in answers.items():
        assert answer.status_code == 200, at
        assert answer["Referrer-Policy"] == "no-referrer"
        assert answer["X-Robots-Tag"] == "noindex, nofollow, noarchive"
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
        text = unescape(answer.content.decode())
        assert FOREIGN not in text, at
        assert MAIL not in text, at
        assert "csrfmiddlewaretoken" not in text
        if "html" in answer["Content-Type"]:
            own = ("/static/", f"{path}/", "https://example.org/", "?")
            assert [url for url in urls(text) if not url.startswith(own) and url != path] == [], at
    assert "[masked:email:" in words(answers)


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_that_does_not_mask_shows_the_text_as_recorded(linked, kind):
    assert MAIL in words(crawl(linked(kind, is_masked=False)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_control_of_a_shared_page_leads_to_a_page(linked, kind):
    path, client = linked(kind), Client()
    page = client.get(path).content.decode()
    found = [url if url.startswith("/") else path + url for url in urls(page) if url[0] in "/?"]
    for url in found:
        if url.startswith("/s/") and "/live/" not in url and not url.endswith("/theme"):
            assert client.get(url, follow=True).status_code == 200, url
    text = unescape(page)
    for word in ("Remove", "tab=events", "tab=json", "/search", "/jump?to=winner  ", "Download"):
        assert word not in text
    assert text.count("/jump?to=") == (2 if kind == "session" else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_password_is_required_and_wrong_ones_are_limited(linked, kind):
    path, client = linked(kind, password="sesame"), Client()
    form = client.get(path).content.decode()
    assert "asks for a password" in form
    assert "[masked" not in form
    tried = [client.post(path, {"password": "wrong"}).status_code for _ in range(opening.TRIES + 1)]
    assert tried == [403] * opening.TRIES + [429]
    other = Client(REMOTE_ADDR="10.0.0.2")
    assert other.post(path, {"password": "sesame"}, follow=True).status_code == 200


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_that_expired_or_was_revoked_is_the_same_404(linked, share, kind):
    path, client = linked(kind), Client()
    assert client.get(path).status_code == 200
    made = ShareLink.objects.filter(pk=share.link.pk)
    made.update(expires_at=timezone.now() - timedelta(seconds=1))
    expired = client.get(path)
    made.update(expires_at=timezone.now() + timedelta(days=1))
    share.maker.post(f"share/links/{share.link.pk}/revoke", 302)
    revoked, unknown = client.get(path), Client().get(f"/s/{'A' * 43}")
    for answer in (expired, revoked, unknown):
        assert (answer.status_code, answer.content) == (404, unknown.content)


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_that_is_deleted_while_it_is_shared_is_gone(linked, session, kind):
    of_group = kind in ("evaluation", "evaluations")
    row = f'row-{ParallelGroupRecord.objects.get().pk if of_group else session.pk}"'
    path, client = linked(kind), Client()
    before = client.get(path)
    assert before.status_code == 200
    project = session.project
    begun = deletion.begin(project, deletion.find(project, ["ev" if of_group else "shared"]), COMMAND)
    answers = [client.get(path)]
    for each in begun:
        deletion.finish(each)
    for answer in (*answers, client.get(path)):
        if kind in ("view", "evaluations"):
            assert answer.status_code == 200
            assert row in before.content.decode()
            assert row not in answer.content.decode()
        else:
            assert (answer.status_code, b"This link does not work" in answer.content) == (404, True)


def test_a_shared_view_keeps_its_query_when_the_view_changes_or_is_deleted(linked, session, share):
    linked("view")  # makes the maker a member
    maker, content = share.maker, Content("?q=agent:coder")
    view = saved_views.create(session.project, maker.user, "sessions", "mine", "me", content)
    page = maker.post(f"share/view?of={view.pk}", 201, hours="24")
    path = re.search(r"http://testserver(/s/[A-Za-z0-9_-]{43})<", page)[1]
    first = rows(path)
    assert first == rows(linked("view")) != []
    saved_views.change(view, content=Content("?q=agent:other"))
    assert rows(path) == first
    SavedView.objects.filter(pk=view.pk).delete()
    assert rows(path) == first
    Session.objects.filter(pk=session.pk).update(agent_id="other")
    assert rows(path) == [row for row in first if row != str(session.pk)]


def rows(path):
    """Return the primary keys of the sessions that a shared view lists."""
    return re.findall(r'id="sessions-row-(\d+)"', Client().get(path).content.decode())


def test_a_shared_evaluation_shows_its_branches_and_no_other_loop_of_their_session(linked):
    path = linked("evaluation")
    answers = crawl(path)
    assert "she knows." in words(answers)
    session = Session.objects.get(session_id="ev")
    loop = session.loop_records.order_by("pk").first().pk
    event = session.eventrecord_set.first().pk
    for rest in (
        *(f"sessions/{session.pk}", f"sessions/{session.pk}/loops/{loop}", f"events/{event}/text"),
        *(f"live/session?session={session.pk}", f"sessions/{session.pk}/jump?to=error"),
    ):
        assert Client().get(f"{path}/{rest}").status_code == 404


def test_a_link_of_a_project_that_is_deleted_ends(linked, project):
    path = linked("session")
    assert Client().get(path).status_code == 200
    Project.objects.filter(pk=project.pk).update(slug=Project.DELETING)
    assert Client().get(path).status_code == 404
