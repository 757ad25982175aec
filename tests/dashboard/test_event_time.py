"""Lists, periods, tiles, Attention and the read API agree on when things happened and on what failed."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.pages.costs.params import CostsParams
from dashboard.pages.costs.queries import overview
from dashboard.pages.evaluations.list_params import NEWEST
from dashboard.pages.evaluations.list_params import Filters as EvaluationFilters
from dashboard.pages.evaluations.queries import header as evaluation_heads
from dashboard.pages.evaluations.queries import list as evaluations
from dashboard.pages.sessions.params import Filters
from dashboard.pages.sessions.queries.facets import views
from dashboard.pages.sessions.queries.figures import figures
from dashboard.shared.queries import attention
from dashboard.shared.queries.session_filter import Wanted, matching
from recorder.core.event_time import happened_at
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project, Session, Turn
from recorder.projection.rebuild import rebuild
from tests.support import build

NOW = datetime.now(UTC)
FEBRUARY = {"timestamp": "2026-02-11T09:00:00Z"}
BEGUN = datetime(2026, 2, 11, 9, tzinfo=UTC)


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def feed(project):
    def feed(*events, received_at=NOW, producer="agent"):
        lines = [build.line(event) for event in events]
        batch = Batch(project.pk, producer, None, lines, received_at=received_at)
        assert ingest(batch).rejected == []

    return feed


def ago(**past):
    return {"timestamp": (NOW - timedelta(**past)).isoformat()}


def ended(session, outcome="completed", **past):
    loop = f"{session}.a.1"
    return build.agent_start(loop, **ago(**past)), build.agent_end(loop, outcome=outcome, **ago(**past))


def times(session_id="s"):
    found = Session.objects.get(session_id=session_id)
    return found.last_event_at, found.last_received_at


def test_an_event_happened_at_its_time_but_never_after_its_arrival():
    assert happened_at(BEGUN, NOW) == BEGUN
    assert happened_at(NOW + timedelta(days=1), NOW) == NOW
    assert happened_at(None, NOW) == NOW


def test_events_without_a_time_leave_an_old_session_old(feed):
    feed(build.ours("SessionInfo", session_id="s", title="Old"), received_at=NOW - timedelta(hours=1))
    assert times() == (NOW - timedelta(hours=1),) * 2

    feed(build.agent_start("s.a.1", **FEBRUARY), build.message_start(), build.message_update())
    assert times() == (BEGUN, NOW)


def test_no_time_of_a_session_goes_back(feed):
    feed(build.agent_start("s.a.1", **ago(minutes=5)), received_at=NOW)
    feed(build.agent_start("s.b.1", **ago(days=5)), received_at=NOW - timedelta(minutes=1), producer="b")

    assert times() == (NOW - timedelta(minutes=5), NOW)


def test_a_time_in_the_future_is_the_arrival_after_a_rebuild_too(feed, project):
    feed(*ended("s", days=-3))
    assert times() == (NOW, NOW)

    rebuild(project)
    assert times() == (NOW, NOW)


def test_an_imported_session_of_february_is_in_february_everywhere(feed, project, client):
    feed(*ended("recent", hours=3))
    feed(build.agent_start("old.a.1", **FEBRUARY), build.agent_end("old.a.1", outcome="failed", **FEBRUARY))
    user = User.objects.create_user("reader")
    project.memberships.create(user=user)
    client.force_login(user)
    lists = [
        client.get(f"/api/v1/sessions?project=default{query}").json()["items"]
        for query in ("", f"&since={(NOW - timedelta(days=1)).strftime('%Y-%m-%dT%H:%M:%SZ')}")
    ]

    assert [[item["session_id"] for item in items] for items in lists] == [["recent", "old"], ["recent"]]
    assert lists[0][1]["last_active_at"].startswith("2026-02-11T09:00:00")
    assert figures(project.pk, Filters(since="24h"), NOW).sessions.value == 1
    assert attention.Counts(project.pk)([user.pk])[user.pk].all == 0
    shown = client.get("/p/default/sessions?since=24h").content.decode()
    assert "recent" in shown
    assert "/p/default/sessions?since=24h" in shown


def test_a_day_has_the_same_money_on_sessions_and_on_costs(feed, project):
    loop = "s.a.1"
    feed(build.agent_start(loop, **ago(days=3)))
    for index, past in enumerate((48, 30, 2)):
        feed(
            build.turn_start(loop, index=index) | ago(hours=past, minutes=1),
            build.turn_end(loop, tokens=10_000 * (index + 1)) | ago(hours=past),
        )
    feed(build.agent_start("old.a.1", **FEBRUARY), build.turn_start("old.a.1") | FEBRUARY)
    feed(build.turn_end("old.a.1", tokens=500_000) | FEBRUARY)

    for since, tokens in (("24h", 30_000), ("7d", 60_000)):
        tiles = figures(project.pk, Filters(since=since), NOW)
        costs = overview.page(project, CostsParams(since=since), NOW).figures
        assert tiles.cost_nano == costs.sum.cost_nano
        assert tiles.cost_nano > 0
        assert tiles.usage.total == tokens
    assert figures(project.pk, Filters(), NOW).usage.total == 560_000


def test_the_view_the_tile_and_the_badge_count_the_same_failures(feed, project):
    for outcome in ("completed", "failed", "cancelled", "limit"):
        feed(*ended(outcome, outcome, minutes=9))
    start, end = ended("rejected", None, minutes=9)
    feed(start, end | {"rejection": "personal data"})
    feed(build.agent_start("aborted.a.1", **ago(minutes=9)), producer="killed")
    ingest(Batch(project.pk, "killed", None, [], flush=True))
    start, end = ended("failed.sub", "failed", minutes=9)
    feed(start | {"session_id": "child", "parent_loop_id": "failed.a.1"}, end)
    assert Session.objects.get(session_id="child").head.role == "sub_agent"
    user = User.objects.create_user("reader")

    now = timezone.now()
    view = next(view for view in views(project.pk, Filters(), now) if view.label == "Failed")
    badge = attention.Counts(project.pk)([user.pk])[user.pk]
    assert view.count.value == figures(project.pk, Filters(since="24h"), now).failed == badge.unseen == 3


def test_a_call_in_the_future_counts_when_it_arrived(feed, project, client):
    arrived, loop = NOW - timedelta(hours=30), "s.a.1"
    start, end = ended("s", days=-400)
    turn = build.turn_start(loop) | ago(days=-400), build.turn_end(loop, tokens=10_000) | ago(days=-400)
    feed(start, *turn, end, received_at=arrived)
    user = User.objects.create_user("reader")
    project.memberships.create(user=user)
    client.force_login(user)

    def usage(**since):
        begin = (NOW - timedelta(**since)).strftime("%Y-%m-%dT%H:%M:%SZ")
        return client.get(f"/api/v1/usage?project=default&group_by=config,day&since={begin}").json()["items"]

    for _ in range(2):
        for by in ("config", "session"):
            assert overview.page(project, CostsParams(since="24h", by=by), NOW).figures.sum.cost_nano is None
            week = overview.page(project, CostsParams(since="7d", by=by), NOW).figures
            assert week.sum.cost_nano == figures(project.pk, Filters(since="7d"), NOW).cost_nano > 0
        assert usage(hours=24) == []
        assert [row["day"] for row in usage(days=7)] == [arrived.date().isoformat()]
        assert usage(days=7)[0]["turns"] == 1
        assert Turn.objects.get().ended_at == NOW + timedelta(days=400)
        rebuild(project)


def test_an_evaluation_in_the_future_is_listed_by_its_arrival(feed, project):
    order = ("old", "future", "new")
    for name, past, received in (("future", -400, 2), ("new", 1, 1), ("old", 3, 0)):
        loop = f"{name}.a.1"
        feed(
            build.parallel_start(loop) | ago(days=past),
            build.agent_start(loop, **ago(days=past)),
            build.agent_end(loop, **ago(days=past)),
            build.parallel_end(loop) | ago(days=past),
            received_at=NOW - timedelta(days=received),
            producer=name,
        )
    found = evaluations.matching(project.pk, EvaluationFilters(), NOW)
    listed = NEWEST.sort(found).values_list("session__session_id", flat=True)
    assert list(listed) == list(reversed(order))

    keys = dict(found.values_list("session__session_id", "pk"))
    heads = evaluation_heads.heads(keys.values())
    assert heads[keys["future"]].previous.endswith(f"/{keys['old']}")
    assert heads[keys["future"]].next.endswith(f"/{keys['new']}")
    recent = evaluations.matching(project.pk, EvaluationFilters(since="24h"), NOW)
    assert set(recent.values_list("session__session_id", flat=True)) == set()
    week = evaluations.matching(project.pk, EvaluationFilters(since="7d"), NOW)
    assert week.count() == 3


def test_a_session_whose_start_is_dated_in_the_future_is_in_the_period_in_which_it_arrived(feed, project):
    feed(build.agent_start("s.a.1", **ago(days=-400)), received_at=NOW - timedelta(days=2))
    for since, until, number in ((3, 1, 1), (1, 0, 0), (5, 3, 0)):
        wanted = Wanted(since=NOW - timedelta(days=since), until=NOW - timedelta(days=until))
        assert matching(project.pk, wanted).count() == number
