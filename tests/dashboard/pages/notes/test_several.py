"""The same entry on several sessions, from the selection of the list."""

import pytest

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Membership, Note, Project, Session
from recorder.notes import several
from recorder.notes.definitions import Draft, define
from tests.support import build


@pytest.fixture
def sessions(project, feed):
    for name in ("a", "b", "c"):
        feed(*build.small_loop(f"{name}.x.1"))
    define(project, Draft("quality", "number", 1, 5), "mira")
    define(project, Draft("solved", "boolean"), "mira")
    return [session.pk for session in Session.objects.order_by("pk")]


@pytest.fixture
def member(reader):
    Membership.objects.filter(user__username="reader").update(role="member")
    return reader


def address(kind, pks, **more):
    pairs = [*(f"of={pk}" for pk in pks), *(f"{name}={value}" for name, value in more.items())]
    return f"/p/default/sessions/{kind}?{'&'.join(pairs)}"


def test_each_session_gets_the_bookmark_once(member, sessions):
    page = member.get(address("bookmark", sessions[:2])).content.decode()
    assert "New bookmark" in page
    assert "2 sessions" in page
    assert "hx-post" not in page, "the page has no dialog that would close"
    for _ in range(2):
        answer = member.post(address("bookmark", sessions[:2]), {"text": "Worth it"})
        assert answer.status_code == 302
    assert sorted(Note.objects.values_list("session_id", "kind", "text", "author")) == [
        ("a", "bookmark", "Worth it", "reader"),
        ("b", "bookmark", "Worth it", "reader"),
    ]
    done = member.get(answer["Location"]).content.decode()
    assert "2 bookmarks added" in done
    assert "q=is:bookmarked" in done


def test_each_session_gets_the_score_or_none(member, sessions):
    page = member.get(address("score", sessions, name="quality")).content.decode()
    assert 'name="value"' in page
    assert "solved" in page
    refused = member.post(address("score", sessions, name="quality"), {"name": "quality", "value": "9"})
    assert refused.status_code == 200
    assert 'role="alert"' in refused.content.decode()
    assert not Note.objects.exists()
    member.post(address("score", sessions, name="quality"), {"name": "quality", "value": "4"})
    assert sorted(Note.objects.values_list("session_id", "number")) == [("a", 4.0), ("b", 4.0), ("c", 4.0)]


def test_sessions_of_others_and_unknown_ones_are_left_out(member, sessions, feed):
    other = Project.objects.create(slug="other")
    ingest(Batch(other.pk, "p", None, [build.line(event) for event in build.small_loop("theirs.x.1")]))
    theirs = Session.objects.get(project=other)
    member.post(address("note", [sessions[0], theirs.pk, 10**12, "x"]), {"text": "Look"})
    assert [note.session_id for note in Note.objects.all()] == ["a"]
    for of in ([theirs.pk], [], ["x"]):
        assert member.get(address("note", of)).status_code == 404


def test_viewers_cannot_write_and_have_no_buttons(reader, sessions):
    Membership.objects.filter(user__username="reader").update(role="viewer")
    assert "sessions/bookmark" not in reader.get("/p/default/sessions").content.decode()
    for kind in ("note", "score", "bookmark"):
        assert reader.get(address(kind, sessions)).status_code == 403
        assert reader.post(address(kind, sessions), {"text": "x"}).status_code == 403
    assert not Note.objects.exists()


def test_members_have_the_buttons(member, sessions):
    page = member.get("/p/default/sessions").content.decode()
    assert 'formaction="/p/default/sessions/bookmark"' in page
    assert 'formaction="/p/default/sessions/score"' in page


def test_more_sessions_than_the_limit_are_refused(member, sessions, monkeypatch):
    monkeypatch.setattr(several, "MOST", 2)
    refused = member.post(address("bookmark", sessions), {})
    assert refused.status_code == 400
    assert "At most 2 sessions" in refused.content.decode()
    assert not Note.objects.exists()


def test_the_menu_of_marks_writes_the_query(member, sessions):
    member.post(address("bookmark", sessions[:1]), {})
    page = member.get("/p/default/sessions?is=bookmarked").content.decode()
    assert 'value="is:bookmarked"' in page
    assert [f'/sessions/{pk}"' in page for pk in sessions] == [True, False, False]
    assert "Ignored is" in member.get("/p/default/sessions?is=nonsense").content.decode()
