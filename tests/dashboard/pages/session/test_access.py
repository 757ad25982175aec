"""Session pages: access rights, number of queries, and invalid parameters."""

from contextlib import nullcontext

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.db import connection
from django.http import Http404, QueryDict
from django.test.utils import CaptureQueriesContext

from dashboard.pages.session.live import open_page
from dashboard.pages.session.page import FIRST_READ
from dashboard.rendering.shared_page import Masks, render_masked
from recorder.models import LoopRecord, Project, Session, Turn
from recorder.pubsub.invalidation import Invalidation
from tests.support import build


@pytest.mark.parametrize(
    "tab", ["", "?tab=events", "?tab=json", "?before=zero", "?at=99999999999999999999", "?turn=-1"]
)
def test_invalid_parameters_are_ignored(feed, loop, tab):
    feed(*build.small_loop())

    assert "Loops 1" in loop(".1", query=tab).text


def test_pages_of_another_projects_session_are_not_found(feed, reader):
    feed(*build.small_loop())
    other = Project.objects.create(slug="other")
    other.memberships.create(user=User.objects.get(username="reader"))
    loop = LoopRecord.objects.get()
    event = loop.start_event

    for path in (
        f"sessions/{loop.session_id}",
        f"sessions/{loop.session_id}/loops/{loop.pk}",
        f"sessions/{loop.session_id}/loops/{loop.pk}/record",
        f"sessions/{loop.session_id}/loops/{loop.pk}/deltas?before={event}",
        f"events/{event}",
        f"events/{event}/raw",
        f"events/{event}/text",
    ):
        assert reader.get(f"/p/default/{path}").status_code in (200, 302), path
        assert reader.get(f"/p/other/{path}").status_code == 404, path


def test_a_loop_of_another_session_is_not_found(feed, reader):
    feed(*build.small_loop("s.a.1"), *build.small_loop("t.a.1"))
    one, two = LoopRecord.objects.order_by("pk")

    assert reader.get(f"/p/default/sessions/{one.session_id}/loops/{two.pk}").status_code == 404


@pytest.mark.parametrize("shared", [False, True])
def test_a_page_of_a_loop_that_is_no_more_is_sent_to_its_session(feed, project, shared):
    feed(*build.small_loop("s.a.1"), *build.small_loop("t.a.1"))
    loop, other = LoopRecord.objects.order_by("pk")
    params = QueryDict(f"session={loop.session_id}&loop={other.pk + 1}")
    with render_masked(Masks(str, bytes, list)) if shared else nullcontext():
        page = open_page(project, AnonymousUser(), params)
        ((panel, pks),) = page.dirty_panels(None)
        html = panel.draw(pks, oob=True)[loop.session_id]

    url = "" if shared else f";url=/p/default/sessions/{loop.session_id}"
    assert f'<meta http-equiv="refresh" content="0{url}">' in html
    assert page.dirty_panels(Invalidation(project.pk, sessions={loop.session_id})) == []


@pytest.mark.parametrize("query", ["", "&at=1"])
def test_a_page_of_a_session_that_another_took_is_sent_there(feed, project, query):
    feed(*build.small_loop("s.a.1"), *build.small_loop("t.a.1"))
    one, two = Session.objects.order_by("pk").values_list("pk", flat=True)
    page = open_page(project, AnonymousUser(), QueryDict(f"session={one}{query}"))
    page.dirty_panels(None)

    ((panel, pks),) = page.dirty_panels(Invalidation(project.pk, sessions={one, two}, moved={one: two}))

    html = panel.draw(pks, oob=True)[two]
    assert f'<meta http-equiv="refresh" content="0;url=/p/default/sessions/{two}">' in html


def test_the_socket_of_a_loop_of_another_session_is_refused(feed, project):
    feed(*build.small_loop("s.a.1"), *build.small_loop("t.a.1"))
    one, two = LoopRecord.objects.order_by("pk")
    with pytest.raises(Http404):
        open_page(project, AnonymousUser(), QueryDict(f"session={one.session_id}&loop={two.pk}"))


def test_an_anonymous_user_is_redirected_to_the_sign_in_page(feed, client, project):
    feed(*build.small_loop())

    response = client.get(f"/p/default/sessions/{Session.objects.get().pk}")

    assert (response.status_code, response["Location"].startswith("/signin")) == (302, True)


def test_a_page_runs_as_many_queries_for_fifty_loops_as_for_one(feed, session, see):
    def turns(loop, n):
        return [
            event
            for index in range(n)
            for event in (
                build.turn_start(loop, index=index),
                build.message_end(loop, message=build.user("Go on.")),
                build.tool_start(loop, call=f"c{index}"),
                build.tool_end(loop, call=f"c{index}", child=f"other{index}.sub.1"),
                build.turn_end(loop, message=build.assistant("Done.")),
            )
        ]

    def queries(path):
        see(path)
        with CaptureQueriesContext(connection) as captured:
            see(path)
        return len(captured)

    read_twice = FIRST_READ + 1  # turns that are read in two parts, as fifty are
    short = [build.agent_start("s.c.1"), *turns("s.c.1", read_twice), build.agent_end("s.c.1")]
    feed(*build.small_loop("s.a.1"), *short)
    small = LoopRecord.objects.get(loop_id="s.c.1")
    tabs = ("", "?tab=events", "?tab=events&scope=session&kind=errors")
    few = [queries(f"/p/default/sessions/{small.session_id}/loops/{small.pk}{tab}") for tab in tabs]

    loops = [f"s.a.{n}" for n in range(2, 51)]
    feed(
        *(
            event
            for loop in loops
            for event in build.small_loop(loop, parent="s.a.1", kind={"Branch": {"tag": "t"}})
        )
    )
    feed(build.agent_start("s.b.1"), *turns("s.b.1", 50), build.agent_end("s.b.1"))
    large = LoopRecord.objects.get(loop_id="s.b.1")
    many = [queries(f"/p/default/sessions/{large.session_id}/loops/{large.pk}{tab}") for tab in tabs]

    assert Turn.objects.filter(loop=large).count() == 50
    assert max(few) <= 63
    assert many == few
