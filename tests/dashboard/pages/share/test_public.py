"""What a share link shows: its record, and nothing else of the project."""

import re
from html import unescape

import pytest
from django.test import Client

from recorder.access import saved_views
from recorder.access.saved_views import Content
from recorder.models import LoopRecord, Session
from recorder.notes import targets, write
from recorder.notes.definitions import Draft, define
from recorder.notes.write import Author
from tests.dashboard.pages.share.conftest import FOREIGN, MAIL, crawl, urls
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db(transaction=True)
OUTSIDE = "https://example.org/"  # in the recorded text


def check(path, answers):
    """Assert that no answer shows another record, or leads elsewhere than below the link."""
    assert len(answers) > 3
    for at, answer in answers.items():
        assert answer.status_code == 200, at
        text = answer.content.decode()
        assert FOREIGN not in text, at
        if "html" in answer["Content-Type"]:
            wrong = [
                url
                for url in urls(text)
                if not url.startswith(("/static/", f"{path}/", OUTSIDE, "?")) and url != path
            ]
            assert wrong == [], at


def test_everything_that_a_shared_session_leads_to_is_of_the_session(session, share):
    path = share("session", session.pk)
    answers = crawl(path)
    check(path, answers)
    texts = " ".join(answer.content.decode() for answer in answers.values())
    assert "second" in texts
    assert "another session" in texts  # in place of the sub-agent
    assert OUTSIDE in texts
    assert "tab=timeline" in texts
    assert "tab=events" not in texts
    assert "csrfmiddlewaretoken" not in texts
    assert "what if" not in texts
    assert any("/text?at=" in at for at in answers)


def test_a_shared_sub_agent_does_not_name_the_session_that_started_it(feed, share):
    child = Loop("sub-agent")
    start = child.start() | {"parent_loop_id": f"{FOREIGN}.parent.1"}
    feed(start, *child.whole_turn("found"), child.end())
    session = Session.objects.get(session_id="sub-agent")
    for terms in ({}, {"is_masked": False}):
        path = share("session", session.pk, **terms)
        answers = crawl(path)
        check(path, answers)
        text = " ".join(answers[path].content.decode().split())
        assert "follows another session" in text
        assert "spawned by another session" in text
        assert "not recorded" not in text


def test_everything_that_a_frozen_session_leads_to_is_of_that_moment(session, share, feed):
    event = session.eventrecord_set.order_by("pk").last().pk
    path = share("session", session.pk, event=event)
    late = Loop("shared", "late")
    feed(late.start(), *late.whole_turn(f"{FOREIGN} later"), late.end())

    answers = crawl(path)
    check(path, answers)
    html = answers[path].content.decode()
    assert "ws-connect" not in html
    assert "As of" in html
    newest = LoopRecord.objects.latest("pk")
    client = Client()
    assert FOREIGN not in client.get(f"{path}/sessions/{session.pk}/loops/{newest.pk}?at=").content.decode()
    last = session.eventrecord_set.order_by("pk").last().pk
    assert client.get(f"{path}/events/{last}/text?at=message.content.0.text").status_code == 404


def test_everything_that_a_shared_evaluation_leads_to_is_of_the_evaluation(group, session, share):
    path = share("evaluation", group)
    check(path, crawl(path))


def test_everything_that_a_shared_comparison_leads_to_is_of_the_comparison(session, share):
    one, two = LoopRecord.objects.filter(session=session).order_by("pk")
    path = share("comparison", session.pk, f"of={one.pk}&of={two.pk}")
    answers = crawl(path)
    check(path, answers)
    assert "2 loops compared" in answers[path].content.decode()


def test_a_comparison_shows_what_was_shared_whatever_the_query(session, share):
    one, two = LoopRecord.objects.filter(session=session).order_by("pk")
    path = share("comparison", session.pk, f"of={one.pk}&of={two.pk}")
    swapped = Client().get(f"{path}?of={two.pk}&of={one.pk}").content.decode()
    assert "2 loops compared" in swapped
    third = LoopRecord.objects.exclude(session=session).first()
    assert FOREIGN not in Client().get(f"{path}?of={one.pk}&of={third.pk}").content.decode()


@pytest.mark.parametrize(
    "rest",
    [
        *("sessions", "sessions/{other}", "sessions/{own}/search?q=a", "sessions/{own}/pin"),
        *("sessions/{other}/loops/{loop}", "sessions/{own}/loops/{loop}", "sessions/{own}/step?to=next"),
        *("sessions/{own}/loops/{own_loop}?tab=events&x=1", "sessions/{own}/loops/{own_loop}/record"),
        *(
            "sessions/{own}/loops/{loop}/turns/0/calls?first=0&end=9",
            "events/{event}/text",
            "events/{event}/raw",
        ),
        *("events/{own_event}", "events/{own_event}/raw", "settings", "evaluations", "notes/{own}/new"),
        *("share", "share/session?of={own}", "members", "../p/default/sessions", "live/session", "find?q=a"),
        *("sessions/compare?of={own}&of={other}", "sessions/{own}/compare?of=1&of=2", "nonsense", "theme/x"),
    ],
)
def test_nothing_else_is_below_the_link_also_for_a_member(session, share, rest):
    other = Session.objects.exclude(pk=session.pk).first()
    names = {
        "own": session.pk,
        "other": other.pk,
        "loop": other.loop_records.first().pk,
        "own_loop": session.loop_records.first().pk,
        "event": other.eventrecord_set.first().pk,
        "own_event": session.eventrecord_set.first().pk,
    }
    path = f"{share('session', session.pk)}/{rest.format(**names)}"
    for client in (Client(), share.maker.client):
        answer = client.get(path)
        text = answer.content.decode()
        if "tab=events" in path:  # as the conversation
            assert 'aria-current="page">Conversation' in text
            continue
        assert answer.status_code == 404
        assert "This link does not work" in text
        assert client.post(path).status_code in (404, 405)
        assert FOREIGN not in text


def test_a_member_who_opens_a_link_sees_what_others_see(session, share):
    path = share("session", session.pk)
    html = share.maker.client.get(path).content.decode()
    assert "Pin" not in html
    assert "csrfmiddlewaretoken" not in html
    assert FOREIGN not in html


@pytest.mark.parametrize(
    "secret", ["", "x", "A" * 42, "A" * 43, "A" * 44, "A" * 43 + "/x", "%00" + "A" * 42, "ä" * 43]
)
def test_a_wrong_secret_is_the_same_404_as_a_link_that_ended(session, share, secret):
    path = share("session", session.pk)
    share.maker.post(f"share/links/{share.link.pk}/revoke", 302)
    ended, unknown = Client().get(path), Client().get(f"/s/{secret}")
    assert (
        (unknown.status_code, unknown.content) == (ended.status_code, ended.content) == (404, ended.content)
    )
    assert dict(unknown.headers) == dict(ended.headers)
    assert b"This link does not work" in unknown.content


def test_every_answer_is_private_and_sends_no_referrer(session, share):
    path = share("session", session.pk, password="sesame")
    client = Client()
    answers = [
        client.get(path),
        client.post(path, {"password": "no"}),
        client.post(path, {"password": "sesame"}),
    ]
    answers += [client.get(path), client.get(f"{path}/settings"), Client().get("/s/x")]
    assert [answer.status_code for answer in answers] == [200, 403, 302, 200, 404, 404]
    for answer in answers:
        assert answer["Cache-Control"] == "no-store"
        assert answer["Referrer-Policy"] == "no-referrer"
        assert answer["X-Robots-Tag"] == "noindex, nofollow, noarchive"
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
        if answer.content:
            assert '<meta name="robots" content="noindex' in answer.content.decode()


def test_text_is_masked_on_every_page_and_fragment_unless_the_link_says_not(session, share, masked):
    path = share("session", session.pk)
    texts = [answer.content.decode() for answer in crawl(path).values()]
    assert not any(MAIL in text for text in texts)
    assert any("[masked:mail]" in text for text in texts)
    plain = share("session", session.pk, is_masked=False)
    assert any(MAIL in answer.content.decode() for answer in crawl(plain).values())


def test_notes_and_scores_are_shown_only_if_the_link_includes_them(project, session, share):
    hidden, shown = share("session", session.pk), share("session", session.pk, has_notes=True)
    loop, author = session.loop_records.first(), Author("mira", user=share.maker.user)
    define(project, Draft("quality", "number", 1, 5), "mira")
    for target in (
        targets.find(project.pk, "shared"),
        targets.find(project.pk, "shared", loop=loop.loop_id),
        targets.find(project.pk, "shared", loop=loop.loop_id, turn=0),
    ):
        write.add_note(project.pk, author, target, "Seen by us.")
    write.give_score(project.pk, author, target, "quality", 4)
    texts = [answer.content.decode() for answer in crawl(hidden).values()]
    texts += [Client().get(f"{hidden}?notes={rail}").content.decode() for rail in ("all", "notes", "scores")]
    assert not any("Seen by us." in text or "quality" in text or "mira" in text for text in texts)
    assert not any("notes and scores" in text for text in texts)  # their numbers
    rail = Client().get(f"{shown}?notes=all").content.decode()
    assert rail.count("Seen by us.") == 3
    assert any("quality" in answer.content.decode() for answer in crawl(shown).values())


def test_absolute_urls_of_this_server_in_recorded_text_become_text(session, share):
    loop = session.loop_records.order_by("pk").first()
    path = share("session", session.pk)
    html = Client().get(f"{path}/sessions/{session.pk}/loops/{loop.pk}").content.decode()
    assert re.search(r"[^\"/]http://testserver/p/default/", html)
    assert 'href="http://testserver' not in html


@pytest.fixture
def view(session, share, person):
    """A view of the sessions of one agent, shared; return the path of the link."""
    Session.objects.exclude(pk=session.pk).update(agent_id="other")
    share("session", session.pk)
    maker = share.maker
    content = Content("?q=&agent=coder")
    saved = saved_views.create(session.project, maker.user, "sessions", f"{FOREIGN} view", "me", content)
    html = maker.post(f"share/view?of={saved.pk}", 201, hours="24")
    return re.search(r"http://testserver(/s/[A-Za-z0-9_-]{43})<", html)[1]


def test_everything_that_a_shared_view_leads_to_is_the_list_of_the_view(session, view):
    answers = crawl(view)
    for at, answer in answers.items():
        assert answer.status_code == 200, at
        html = unescape(answer.content.decode())
        assert FOREIGN not in html, at
        assert session.title[:20] in html
        assert "<form" not in html.replace(f'<form class="end" method="post" action="{view}/theme"', "")
        wrong = [
            url for url in urls(html) if not url.startswith(("/static/", f"{view}/", "?")) and url != view
        ]
        assert wrong == [], at


@pytest.mark.parametrize(
    "query", ["?agent=other", "?q=", "?view=1", "?since=24h&q=status:failed", "?before=x", "?q=other&agent="]
)
def test_a_shared_view_shows_its_rows_whatever_the_query(session, view, query):
    for path in (f"{view}{query}", f"{view}/sessions{query}"):
        answer = Client().get(path)
        assert FOREIGN not in answer.content.decode()
        assert session.title[:20] in unescape(answer.content.decode())
    for path in (f"sessions/{session.pk}", "sessions.csv", "evaluations", "live/sessions"):
        assert Client().get(f"{view}/{path}{query}").status_code == 404


def test_a_shared_view_of_evaluations_names_them(group, share, session):
    share("session", session.pk)
    saved = saved_views.create(session.project, share.maker.user, "evaluations", "all", "me", Content("?q="))
    html = share.maker.post(f"share/view?of={saved.pk}", 201, hours="24")
    answer = Client().get(re.search(r"http://testserver(/s/[A-Za-z0-9_-]{43})<", html)[1])
    text = answer.content.decode()
    assert answer.status_code == 200
    assert "evaluation-row" in text
    assert re.search(r'<span class=""><b class="clip"', text)
    assert f"/evaluations/{group}" not in text


def test_a_view_of_another_person_is_not_shared_and_pages_of_costs_are_not(session, share, person):
    share("session", session.pk)
    other = person("other").user
    mine = saved_views.create(session.project, other, "sessions", "a", "me", Content("?q="))
    costs = saved_views.create(session.project, share.maker.user, "costs", "b", "me", Content("?by=model"))
    for saved in (mine, costs):
        share.maker.post(f"share/view?of={saved.pk}", 404)
