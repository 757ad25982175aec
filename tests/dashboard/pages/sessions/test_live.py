"""The open list of sessions: a push equals a reload, and new sessions are counted."""

import re
from copy import copy
from dataclasses import fields, replace
from urllib.parse import urlsplit

import pytest
from django.http import QueryDict

from dashboard.live.panel import Panel
from dashboard.pages.sessions import queries
from dashboard.pages.sessions.live import open_page
from recorder.models import Project, Session
from recorder.pubsub.invalidation import Invalidation, subscribe, unsubscribe
from tests.support.small_loop import Loop


@pytest.fixture
def opened(project):
    """Return what the socket of a page shows: `opened(page)`."""

    def opened(page):
        return open_page(project, None, QueryDict(urlsplit(page.socket).query))

    return opened


@pytest.fixture
def invalidations():
    """Return what rang since the test began."""
    rung: list[Invalidation] = []
    subscribe(rung.append)
    yield rung
    unsubscribe(rung.append)


def html_by_id(dirty_panels):
    """Draw what is wanted, as the hub does."""
    return {
        panel.dom_id(pk): html
        for panel, pks in dirty_panels
        for pk, html in panel.draw(pks, oob=True).items()
    }


def without_mark(html):
    return " ".join(html.replace(' hx-swap-oob="morph"', "").split())


def test_what_is_pushed_is_what_a_reload_shows(see, feed, opened, invalidations):
    loop = Loop("s")
    feed(loop.start(), *loop.whole_turn("one"), loop.turn())
    feed(scenario="03-parallel-judge")
    page = opened(see())
    invalidations.clear()

    feed(loop.tool("t1", command="make test"), *loop.whole_turn("two"))
    pushed = html_by_id(want for touched in invalidations for want in page.dirty_panels(touched))

    reloaded = " ".join(see().html.split())
    assert any("sessions-row" in name for name in pushed)
    for html in pushed.values():
        assert without_mark(html) in reloaded


def test_on_connect_every_panel_is_rendered(see, feed, opened):
    for name in "abc":
        feed(Loop(name).start())
    seen = see("?status=running&since=24h")
    page = " ".join(seen.html.split())
    panels = html_by_id(opened(seen).dirty_panels(None))
    kinds = sorted({re.sub(r"-\d+$", "", name) for name in panels})
    assert kinds == [
        "sessions-cost-scale",
        "sessions-row",
        "sessions-summary",
        "sessions-views",
        "shared-new-items",
    ]
    assert len(panels) == 7
    for html in panels.values():
        assert without_mark(html) in page


def test_a_reconnect_renders_the_shown_rows_not_the_newest(see, feed, opened):
    feed(Loop("old").start())
    seen = see()
    old = Session.objects.get()
    feed(Loop("new").start())
    names = html_by_id(opened(seen).dirty_panels(None))
    assert [name for name in names if "row" in name] == [f"sessions-row-{old.pk}"]
    assert "Show 1 new session<" in names[f"shared-new-items-{old.pk}"]


@pytest.mark.parametrize(
    ("query", "strip"), [("", "Show 2 new sessions"), ("?agent=nobody", ""), ("?q=b2", "Show 1 new")]
)
def test_new_sessions_that_match_are_counted(see, feed, opened, invalidations, query, strip):
    feed(Loop("a1").start())
    seen = see(query)
    page = opened(seen)
    invalidations.clear()
    feed(Loop("b1").start(), Loop("b2").start())
    pushed = html_by_id(want for touched in invalidations for want in page.dirty_panels(touched))
    (shown,) = (html for name, html in pushed.items() if "new-items" in name)
    assert strip in shown
    assert ("<a" in shown) == bool(strip)
    assert not [name for name in pushed if "row" in name]


def test_the_first_session_of_a_project_is_counted(see, feed, opened, invalidations):
    page = opened(see())
    feed(Loop("s").start())
    pushed = html_by_id(want for touched in invalidations for want in page.dirty_panels(touched))
    assert "Show 1 new session<" in pushed["shared-new-items-0"]


def test_an_invalidation_of_other_sessions_renders_no_row(see, feed, opened):
    feed(Loop("a").start())
    page = opened(see())
    dirty_panels = page.dirty_panels(Invalidation(page.project, sessions={999}))
    assert [pks for panel, pks in dirty_panels if panel.name == "sessions/row"] == [[]]


def test_rendering_fifty_rows_takes_as_many_queries_as_one(see, feed, opened, django_assert_num_queries):
    for n in range(50):
        feed(Loop(f"s{n}").start())
    page = opened(see())
    with django_assert_num_queries(0):
        dirty_panels = page.dirty_panels(Invalidation(page.project, sessions=set(page.list.rows)))
    rows: dict[Panel, list[int]] = dict(dirty_panels)
    (row,) = (panel for panel in rows if panel.name == "sessions/row")
    assert len(rows[row]) == 50
    with django_assert_num_queries(3):
        row.draw(rows[row])


def test_a_socket_gets_no_rows_of_another_project(project, feed):
    other = Project.objects.create(slug="other")
    feed(Loop("theirs").start(), into=other)
    theirs = Session.objects.get().pk
    page = open_page(project, None, QueryDict(f"rows={theirs}&newest=0"))
    assert not [name for name in html_by_id(page.dirty_panels(None)) if "row" in name]
    assert not [
        name
        for name in html_by_id(page.dirty_panels(Invalidation(project.pk, sessions={theirs})))
        if "row" in name
    ]


def test_a_row_deleted_while_disconnected_is_removed_on_reconnect(see, feed, opened):
    feed(Loop("a").start())
    seen = see()
    gone = Session.objects.get().pk
    Session.objects.all().delete()
    rendered = {panel.name: pks for panel, pks in opened(seen).dirty_panels(None)}
    assert rendered["sessions/row"] == [gone]


@pytest.mark.parametrize(
    "query", ["rows=a.b.-1.99999999999999999999.%00&newest=x", "", "rows=...&newest=-5", "q=%00"]
)
def test_an_invalid_socket_url_opens_an_empty_page(project, query):
    page = open_page(project, None, QueryDict(query))
    assert (page.list.rows, page.list.newest) == ((), 0)
    assert html_by_id(page.dirty_panels(None))


def test_pages_with_equal_parameters_share_their_panels(project):
    one, two = (open_page(project, None, QueryDict("status=running&newest=1")) for _ in range(2))
    assert one.dirty_panels(None) == two.dirty_panels(None)


def test_a_row_is_rendered_again_only_when_it_changed(see, feed, monkeypatch):
    for name in ("quiet", "busy"):
        loop = Loop(name)
        feed(loop.start(), *loop.whole_turn("one"))
    see()
    rendered = []
    render = Panel.fragment

    def fragment(panel, pk, value, **mark):
        rendered.append((panel.name, pk))
        return render(panel, pk, value, **mark)

    monkeypatch.setattr(Panel, "fragment", fragment)
    see()
    assert not [name for name, _ in rendered if name == "sessions/row"]
    feed(*loop.whole_turn("two"))
    assert 'data-column="turns">2</div>' in see().html
    busy = Session.objects.get(session_id="busy").pk
    assert [row for row in rendered if row[0] == "sessions/row"] == [("sessions/row", busy)]


def test_every_value_that_a_row_shows_is_in_its_fingerprint(see, feed, project):
    feed(scenario="03-parallel-judge")
    (session,) = Session.objects.values_list("pk", flat=True)
    row = queries.rows(project.pk, [session])[session]
    parts = {"slug": "other", "state": "stale", "configs": (), "more_configs": row.configs, "mix": ()}
    parts["columns"] = ("cost",)
    assert {field.name for field in fields(row)} == {"session", *parts}
    changed = [replace(row, **{name: value}).fingerprint for name, value in parts.items()]
    for column in vars(row.session):
        if not column.startswith("_"):
            other = copy(row.session)
            setattr(other, column, "another value")
            changed.append(replace(row, session=other).fingerprint)
    assert len({row.fingerprint, *changed}) == len(changed) + 1 > 20
