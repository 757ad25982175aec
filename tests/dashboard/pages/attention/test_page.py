"""The attention page: open questions, read and unread failures, finished sessions."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.pages.attention.queries import ended_sessions, waiting
from dashboard.rendering import approvals
from recorder.models import Approval, Project, ReadMark, Session
from recorder.projection.rebuild import rebuild
from tests.dashboard.pages.attention.loop_states import ago, approval_request, failing, finishing
from tests.support import build

QUERIES = 33
HOSTILE = '"><img src=x onerror=alert(1)>'


def section(html, name):
    return html.partition(f'<section class="section" id="attention-{name}-')[2].partition("</section>")[0]


def title(html):
    return re.search(r"<title>(.*?)</title>", html)[1]


def badge(html):
    return re.search(r'data-attention="(.*?)"', html)[1]


def test_an_empty_project_has_no_questions_and_no_failures(see):
    page = see()

    assert "No open questions." in page
    assert "No failures." in page
    assert "No sessions finished in the last 24 hours." in page
    assert title(page).startswith("Attention")
    assert badge(page) == ""


def test_a_question_is_shown_with_all_its_details(feed, see):
    feed(
        build.ours("SessionInfo", None, session_id="s", title="Tidy up", working_dir="/home/mira/app"),
        *approval_request(
            "s", risk="high", warnings=["deletes files", {"n": 1}], options=["approve", "reject"]
        ),
    )

    waits = section(see(), "waiting")

    for text in ("Tidy up", "rm -rf build", "Risk: high", "deletes files", "{&quot;n&quot;: 1}"):
        assert text in waits
    for text in (
        "<code>approve</code>",
        "/home/mira/app",
        "the program that runs the agent",
        "data-start",
        "agent-a",
    ):
        assert text in waits
    assert f'href="/p/default/sessions/{Session.objects.get().pk}/loops/' in waits


def test_the_waiting_tool_is_named(feed, see):
    start, asks = approval_request("s", command="ls", tool_call_id="t1")
    feed(start, build.tool_start("s.a.1", "t1"), asks)

    assert "<b>bash</b> ls" in section(see(), "waiting")


@pytest.mark.parametrize(
    ("answer", "inferred"),
    [
        (build.ours("ApprovalResolved", "s.a.1", decision="granted", scope="once"), False),
        (build.ours("ApprovalResolved", "s.a.1", decision="denied"), False),
        (build.agent_start("s.a.2", session="s"), False),
        ({**build.agent_end("s.a.1"), "outcome": "cancelled"}, True),
    ],
)
def test_any_resolution_closes_the_question(feed, see, answer, inferred):
    feed(*approval_request("s"))
    if answer["type"] == "AgentStart":
        feed(build.agent_end("s.a.1"))
    assert badge(see()) == "1"

    feed(answer)

    assert "No open questions" in see()
    assert badge(see()) == ""
    assert Approval.objects.get().inferred is (inferred or answer["type"] == "AgentStart")


def test_a_question_stays_open_after_the_end_of_its_turn(feed, see):
    feed(*approval_request("s"), build.agent_end("s.a.1", timestamp=ago(seconds=1)))

    page = see()

    assert "rm -rf build" in section(page, "waiting")
    assert "No sessions finished" in page


def test_agent_text_is_escaped_and_limited_in_length(feed, see):
    fields = {"risk": HOSTILE, "warnings": {HOSTILE: [HOSTILE] * 50}, "options": [HOSTILE] * 500}
    feed(*approval_request("s", command=HOSTILE + "x" * 100_000, **fields), *failing("t", error=HOSTILE))
    feed(build.ours("SessionInfo", None, session_id="s", title=HOSTILE, working_dir=HOSTILE))

    page = see()

    assert "<img src=x" not in page
    assert page.count("&lt;img src=x") > 5
    assert len(page) < 40_000


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (None, []),
        ([], []),
        ("one", ["one"]),
        (7, ["7"]),
        (["a", 1, None], ["a", "1", "null"]),
        ({"mode": "form"}, ["mode: form"]),
    ],
)
def test_warnings_and_options_may_be_anything(given, shown):
    assert list(approvals.as_lines(given)) == shown


def test_questions_are_paginated(feed, see):
    feed(
        *(
            event
            for n in range(waiting.PAGE + 3)
            for event in approval_request(f"s{n:02}", command=f"do {n:02}")
        )
    )

    first = section(see(), "waiting")
    after = re.search(r'href="\?waiting=(\d+)"', first)[1]
    second = section(see(f"?waiting={after}"), "waiting")

    assert first.count('class="question"') == waiting.PAGE
    assert second.count('class="question"') == 3
    assert "do 00" in first
    assert "do 22" in second
    assert badge(see()) == "23"


def test_a_failure_is_unread_until_the_user_marks_it(feed, see, client):
    feed(*failing("s"))
    page = see()
    assert "Failed: the disk is full" in page
    assert "1, all unread" in page
    assert title(page).startswith("(1) Attention")

    answer = client.post("/p/default/attention/seen", {"session": Session.objects.get().pk})

    assert (answer.status_code, answer["Location"]) == (302, "/p/default/attention")
    page = see()
    assert "1, all read" in page
    assert 'class="is-seen"' in page
    assert title(page).startswith("Attention")
    assert badge(page) == ""


def test_read_markers_are_per_user(feed, see, client, project):
    feed(*failing("s"))
    see()
    client.post("/p/default/attention/seen", {"session": Session.objects.get().pk})
    other, user = Client(), User.objects.create_user("other")
    project.memberships.create(user=user)
    other.force_login(user)

    assert "1, all unread" in other.get("/p/default/attention").content.decode()


def test_a_session_that_fails_again_is_unread_again(feed, see, client):
    feed(*failing("s"))
    see()
    client.post("/p/default/attention/seen", {"session": Session.objects.get().pk})

    start, end = failing("s", error="and again")
    feed({**start, "loop_id": "s.a.2"}, {**end, "loop_id": "s.a.2"})

    assert "1, all unread" in see()


def test_a_session_that_continues_is_not_a_failure(feed, see):
    feed(*failing("s"))
    feed(build.agent_start("s.a.2", session="s", timestamp=ago()))

    assert "No failures." in see()
    assert badge(see()) == ""


def test_mark_all_leaves_later_failures_unread(feed, see, client):
    feed(*failing("a"), *failing("b"))
    upto = re.search(r'name="upto" value="(.*?)"', see())[1]
    feed(*failing("late"))

    client.post("/p/default/attention/seen", {"upto": upto})

    failed = section(see(), "failed")
    assert "3, 1 unread" in failed
    assert failed.index("late") < failed.index('class="is-seen"')


@pytest.mark.parametrize(
    "form", [{}, {"session": "x"}, {"upto": "x"}, {"upto": "c5-1"}, {"session": "9" * 30}]
)
def test_a_mark_without_a_session_or_time_is_refused(see, client, form):
    see()
    answer = client.post("/p/default/attention/seen", form)

    assert answer.status_code == 400
    assert b"The parameter session or upto" in answer.content


def test_only_members_mark_failures_as_read(feed, see, client):
    other = Project.objects.create(slug="other")
    feed(*failing("s"), into=other)
    see()
    session = Session.objects.get().pk

    assert client.post("/p/other/attention/seen", {"session": session}).status_code == 404
    assert client.post("/p/default/attention/seen", {"session": session}).status_code == 302
    assert client.get("/p/default/attention/seen").status_code == 405
    assert Client().post("/p/default/attention/seen").status_code == 302
    assert not ReadMark.objects.exists()


def test_marks_outlive_a_rebuild_and_a_second_mark_changes_nothing(feed, see, client, project):
    feed(*failing("s"))
    see()
    for _ in range(2):
        client.post("/p/default/attention/seen", {"session": Session.objects.get().pk})
    rebuild(project)

    assert "1, all read" in see()
    assert ReadMark.objects.count() == 1


@pytest.mark.parametrize(
    ("end", "is_shown"),
    [
        ({"outcome": "failed"}, True),
        ({"outcome": None, "error": None, "rejection": "personal data"}, True),
        ({"outcome": "cancelled"}, False),
        ({"outcome": "limit"}, False),
        ({"outcome": "completed"}, False),
    ],
)
def test_only_failed_outcomes_are_listed_as_failures(feed, see, end, is_shown):
    feed(*failing("s", **end))

    assert ("No failures." not in see()) is is_shown


def test_an_interrupted_session_is_a_failure(feed, see):
    feed(build.agent_start("s.a.1", timestamp=ago(seconds=2)))
    feed(flush=True)

    assert "Aborted" in section(see(), "failed")


@pytest.mark.parametrize("producer", ["import:x", "a spool that was sent late"])
def test_sessions_that_failed_long_ago_do_not_count_whenever_they_arrive(feed, see, producer):
    feed(*({**each, "timestamp": ago(days=30)} for each in failing("s")), producer=producer)

    assert "No failures." in see()


def test_a_failure_in_the_future_counts_as_its_arrival(feed, see):
    feed(*({**each, "timestamp": ago(days=-30)} for each in failing("s")))

    assert "No failures." not in see()


def test_failures_of_sub_agents_are_not_listed(feed, see):
    start, end = failing("s")
    role = {"loop_id": "s.sub.1", "parent_loop_id": "s.a.1"}
    feed(build.agent_start("s.a.1", timestamp=ago(seconds=5)))
    feed({**start, **role, "session_id": "child"}, {**end, **role})
    assert Session.objects.get(session_id="child").head.role == "sub_agent"

    assert "No failures." in see()


def test_failures_are_paginated_unread_first(feed, see, client):
    feed(*(event for n in range(ended_sessions.PAGE + 5) for event in failing(f"s{n:02}")))
    see()
    for session in Session.objects.order_by("-pk")[:10]:
        client.post("/p/default/attention/seen", {"session": session.pk})

    first = section(see(), "failed")
    after = re.search(r'href="\?failed=(.*?)"', first)[1]
    second = section(see(f"?failed={after}"), "failed")

    assert (first.count("<li"), first.count("is-seen")) == (ended_sessions.PAGE, ended_sessions.PAGE - 15)
    assert (second.count("<li"), second.count("is-seen")) == (5, 5)
    listed = re.findall(r'title="(s\d\d)"', first + second)
    assert sorted(listed) == [f"s{n:02}" for n in range(25)]


@pytest.mark.parametrize(
    "query", ["?waiting=x", "?failed=x", "?failed=1.x", "?waiting=-1&failed=2.1-1", "?failed=0.c1-1"]
)
def test_an_invalid_position_shows_the_first_page(feed, see, query):
    feed(*approval_request("s"), *failing("t"))

    assert "rm -rf build" in see(query)
    assert "the disk is full" in see(query)


def test_a_finished_session_is_shown_with_its_last_text(feed, see):
    feed(*finishing("s", "All tests pass."))

    assert "All tests pass." in section(see(), "finished")


def test_every_page_shows_the_count_in_its_title(feed, see):
    feed(*approval_request("s"), *failing("t"))

    for page in ("sessions", "costs", "evaluations", "leaderboard", "integrity", "settings"):
        html = see(page=page)
        assert title(html).startswith("(2) "), page
        assert badge(html) == "2"


def test_counts_stop_at_a_hundred(feed, see):
    feed(*(event for n in range(101) for event in approval_request(f"s{n}")))

    assert badge(see()) == "99+"


def test_fifty_rows_take_as_many_queries_as_one(feed, see, client, django_assert_num_queries):
    feed(*approval_request("s", tool_call_id="t"), *failing("t"), *finishing("u"))
    see()
    with django_assert_num_queries(QUERIES):
        see()
    for n in range(50):
        feed(*approval_request(f"a{n}", tool_call_id="t"), *failing(f"b{n}"), *finishing(f"c{n}"))
    with django_assert_num_queries(QUERIES):
        see()
