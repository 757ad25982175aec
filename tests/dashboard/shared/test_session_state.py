"""Live and stale sessions: one definition, in Python and in SQL, that every page and the read API follow."""

from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.notifications.queries import waiting as notified
from dashboard.pages.attention.params import AttentionParams
from dashboard.pages.attention.queries.waiting import WaitingOf
from dashboard.pages.sessions.params import Filters
from dashboard.pages.sessions.queries.facets import views
from dashboard.pages.sessions.queries.figures import figures
from dashboard.pages.sessions.queries.list import matching
from dashboard.shared.queries import attention
from dashboard.shared.session_state import State, end_of_session, is_stale, live, stale, state_of_session
from dashboard.shell.queries import live_now
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Compaction, EventRecord, Project, Session
from recorder.projection.rebuild import rebuild
from tests.support import build

HALF_HOUR, DAY = timedelta(minutes=30), timedelta(hours=24)
NOW = datetime(2026, 11, 4, 15, 30, tzinfo=UTC)
SECOND = timedelta(seconds=1)
numbers = count(1)


@pytest.fixture(autouse=True)
def _limits(settings):
    settings.LOOPSCOPE_STALE_S, settings.LOOPSCOPE_STALE_WAITING_S = 1_800, 86_400


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


def feed(project, *events, received_at=None):
    batch = Batch(project.pk, "agent", None, [build.line(event) for event in events])
    if received_at is not None:
        batch = Batch(project.pk, "agent", None, batch.lines, received_at=received_at)
    assert ingest(batch).rejected == []


def at(past):
    return {"timestamp": (timezone.now() - past).isoformat()}


def session(project, kind, past, received_at=None):
    """Record a session whose last event was `past` ago; return its key."""
    name = f"s{next(numbers)}"
    loop, when = f"{name}.a.1", at(past)
    ask = build.ours("ApprovalRequested", loop_id=loop, session_id=name, kind="command", command="ls") | when
    events = {
        "running": [build.agent_start(loop, **when)],
        "waiting": [build.agent_start(loop, **when), ask],
        "ended": [build.agent_start(loop, **when), build.agent_end(loop, **when)],
        "pending": [build.ours("SessionInfo", session_id=name, title="Pending") | when],
    }
    feed(project, *events[kind], received_at=received_at)
    return Session.objects.get(project=project, session_id=name).pk


def state(status="running", waiting=0, last=timedelta()):
    return State(status, "", waiting, None, NOW - last)


@pytest.mark.parametrize(
    ("session", "shown"),
    [
        (state(last=HALF_HOUR), "running"),
        (state(last=HALF_HOUR + SECOND), "stale"),
        (state("pending", last=HALF_HOUR + SECOND), "stale"),
        (state(waiting=1, last=HALF_HOUR + SECOND), "waiting"),
        (state(waiting=1, last=DAY), "waiting"),
        (state(waiting=1, last=DAY + SECOND), "stale"),
        (state("completed", waiting=1, last=DAY + SECOND), "stale"),
        (state("completed", last=253 * DAY), "completed"),
        (state("aborted", last=253 * DAY), "aborted"),
    ],
)
def test_a_session_is_stale_after_its_limit_without_a_sign_of_life(session, shown, monkeypatch):
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    assert state_of_session(session) == shown
    assert is_stale(session) == (shown == "stale")


def test_a_limit_of_0_is_never(settings):
    settings.LOOPSCOPE_STALE_S = 0
    assert not is_stale(state(last=400 * DAY), NOW)
    settings.LOOPSCOPE_STALE_WAITING_S = 0
    assert not is_stale(state(waiting=1, last=400 * DAY), NOW)


def test_the_duration_of_a_stale_session_ends_with_its_last_sign_of_life(monkeypatch):
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    assert end_of_session(state(last=SECOND)) is None
    assert end_of_session(state(last=DAY)) == NOW - DAY


KINDS = st.sampled_from(["running", "waiting", "ended", "pending"])
AGES = st.one_of(st.integers(0, 3_600), st.integers(80_000, 90_000), st.integers(0, 30_000_000))


@settings(max_examples=20)
@given(st.lists(st.tuples(KINDS, AGES), min_size=1, max_size=6))
def test_sql_and_python_agree_on_what_is_live_and_what_is_stale(project, made):
    pks = [session(project, kind, timedelta(seconds=age)) for kind, age in made]
    for passed in (timedelta(), HALF_HOUR, DAY):
        now = timezone.now() + passed
        rows = Session.objects.filter(pk__in=pks)
        found = set(rows.filter(stale(now)).values_list("pk", flat=True))
        assert found == {row.pk for row in rows if is_stale(row, now)}
        unfinished = {row.pk for row in rows if row.waiting or row.status in ("pending", "running")}
        assert set(rows.filter(live(now)).values_list("pk", flat=True)) == unfinished - found


@pytest.fixture
def shown(project, client):
    """Return a function that returns the sessions that each page and the read API show as live and stale."""
    user = User.objects.create_user("reader")
    project.memberships.create(user=user)
    client.force_login(user)

    def shown():
        now = timezone.now()
        tabs = {view.label: view.count.value for view in views(project.pk, Filters(), now)}
        tiles = figures(project.pk, Filters(), now)
        open_approvals = WaitingOf(AttentionParams())([project.pk])[project.pk]
        items = client.get("/api/v1/sessions?project=default").json()["items"]
        by_param = {
            word: {
                item["session_id"]
                for item in client.get(f"/api/v1/sessions?project=default&stale={word}").json()["items"]
            }
            for word in ("true", "false")
        }
        assert by_param["true"] == {item["session_id"] for item in items if item["stale"]}
        assert by_param["false"] == {item["session_id"] for item in items if not item["stale"]}
        assert tabs["Running"] == tiles.running
        assert tabs["Waiting"] == tiles.waiting == open_approvals.total.value == len(notified(user))
        assert attention.Counts(project.pk)([user.pk])[user.pk].waiting == tabs["Waiting"]
        assert tabs["Stale"] == open_approvals.stale.value == len(by_param["true"])
        lines = live_now([project.pk])[project.pk].lines
        return {
            "live": sorted(line.pk for line in lines),
            "stale": sorted(matching(project.pk, Filters(view="stale"), now).values_list("pk", flat=True)),
        }

    return shown


def test_every_place_agrees_on_what_is_live(project, shown):
    running, waiting = session(project, "running", SECOND), session(project, "waiting", HALF_HOUR * 2)
    silent = [session(project, kind, HALF_HOUR * 2) for kind in ("running", "pending")]
    silent.append(session(project, "waiting", DAY + HALF_HOUR))
    session(project, "ended", DAY * 2)

    assert shown() == {"live": [running, waiting], "stale": silent}


def test_an_imported_run_of_february_that_never_ended_is_stale_at_once(project, shown, client):
    pk = session(project, "running", 253 * DAY)

    assert shown() == {"live": [], "stale": [pk]}
    page = client.get("/p/default/sessions").content.decode()
    assert "Stale, no events for" in page
    assert 'data-state="stale"' in page
    assert "No running sessions" in page


def test_a_stale_session_is_live_again_with_its_next_event(project, shown):
    pk = session(project, "running", DAY)
    assert shown()["stale"] == [pk]

    feed(project, build.turn_start(f"{Session.objects.get().session_id}.a.1") | at(SECOND))
    assert shown() == {"live": [pk], "stale": []}


def test_a_delta_without_a_time_is_a_sign_of_life(project, shown):
    past = HALF_HOUR * 2
    pk = session(project, "running", past, received_at=timezone.now() - past)
    assert shown()["stale"] == [pk]

    feed(project, build.message_update(f"{Session.objects.get().session_id}.a.1"))
    assert shown() == {"live": [pk], "stale": []}


def test_an_event_of_long_ago_is_no_sign_of_life(project, shown):
    pk = session(project, "running", DAY)
    feed(project, build.turn_start(f"{Session.objects.get().session_id}.a.1") | at(DAY / 2))
    assert shown() == {"live": [], "stale": [pk]}


def test_nothing_about_staleness_is_stored(project, shown):
    for kind in ("running", "waiting", "pending"):
        session(project, kind, DAY * 2)
    before, records = shown(), list(Session.objects.order_by("pk").values())
    rebuild(project)
    assert shown() == before
    assert list(Session.objects.order_by("pk").values()) == records


def test_the_filters_by_status_and_duration_follow_what_is_shown(project):
    silent, running = session(project, "running", DAY), session(project, "running", SECOND)

    def found(query):
        filters = Filters(q=query)
        return set(matching(project.pk, filters, timezone.now()).values_list("pk", flat=True))

    assert found("status:running") == {running}
    assert found("status:stale") == {silent}
    assert found("status:[stale,running]") == {silent, running}
    assert found("status:[stale,failed]") == {silent}
    assert found("duration:>=1h") == set()


def test_the_read_api_keeps_the_recorded_status(project, client, get):
    pk = session(project, "running", DAY)
    name = Session.objects.get(pk=pk).session_id

    assert [item["stale"] for item in get("sessions", status="running")["items"]] == [True]
    found = get(f"sessions/{name}")
    assert (found["status"], found["stale"], found["loops"][0]["stale"]) == ("running", True, True)
    assert get(f"sessions/{name}/context")["stale"] is True


def test_the_past_is_decided_by_the_clock_of_its_moment(project, client, get, shown):
    pk = session(project, "running", DAY)
    name, event = Session.objects.get().session_id, EventRecord.objects.latest("pk").pk

    assert get(f"sessions/{name}")["stale"] is True
    assert get(f"sessions/{name}", at=event)["stale"] is False
    page = f"/p/default/sessions/{pk}"
    assert "no events for" in client.get(page).content.decode()
    past = client.get(f"{page}?at={event}").content.decode()
    assert "no events for" not in past
    assert 'class="status status-running"' in past
    assert is_stale(Session.objects.get())


def test_a_compaction_and_a_tool_that_run_in_a_stale_session_are_stale(project, client, shown):
    loop, when = "s.a.1", at(DAY)
    feed(
        project,
        build.agent_start(loop, **when),
        build.turn_start(loop) | when,
        build.tool_start(loop, **when),
    )
    feed(project, build.compaction_started(loop) | when)
    session, compaction = Session.objects.get().pk, Compaction.objects.get().pk

    for path in ("/p/default/compactions", f"/p/default/sessions/{session}/compactions/{compaction}"):
        assert 'data-state="stale"' in client.get(path).content.decode()
    for tab in ("", "?tab=compactions", "?tab=timeline"):
        page = client.get(f"/p/default/sessions/{session}{tab}").content.decode()
        assert "status-stale" in page
        assert 'class="status status-running"' not in page
        assert page.count("data-start") == 1  # of the time without events


@pytest.mark.sqlite
def test_live_and_stale_sessions_are_read_from_their_index(project, django_assert_num_queries):
    """Among a million sessions a list of live or stale ones reads neither the others nor sorts them."""
    now = timezone.now()
    newest = Session.objects.filter(project=project).order_by("-last_event_at", "-pk").values("pk")
    with connection.cursor() as cursor:
        for condition in (live(now), stale(now)):
            query, params = newest.filter(condition)[:50].query.sql_with_params()
            cursor.execute(f"EXPLAIN QUERY PLAN {query}", params)
            plan = "; ".join(row[-1] for row in cursor.fetchall())
            assert "USING INDEX session_unfinished" in plan
            assert "last_event_at" in plan
            assert "TEMP B-TREE" not in plan
    with django_assert_num_queries(2):
        live_now([project.pk])
