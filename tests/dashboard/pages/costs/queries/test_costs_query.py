"""A query on the costs page: every part of the page, the file and the API add up to the same nano-dollars."""

import csv
import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.pages.costs.live import figures_panel
from dashboard.pages.costs.params import CostsParams
from dashboard.pages.costs.queries import page
from dashboard.query_conditions.box import parsed
from recorder.access import tokens
from recorder.models import Session, SessionLabel
from tests.dashboard.pages.costs.conftest import config, loop
from tests.dashboard.pages.costs.test_page import words
from tests.phi_core import scenarios
from tests.support import build

GPT = config("gpt-4o", "openai", "open_ai_completions")
QWEN = config("qwen3-coder-30b", "local", "open_ai_completions")
SINCE = "2026-01-01"
LATER = datetime(2026, 12, 1, tzinfo=UTC)
OF_SESSIONS = (
    *("turns:>=0", "loops:>1", "-loops:>1", "tool:bash OR cost:>1", "status:failed", "has:compaction"),
    *("evaluation:judged", "session:s*", "model:claude-haiku-4-5 OR session:t", "-(agent:coder session:u)"),
    *("since:2026-02-12", "id:nothing", "duration:>5s", "has:sub-agent OR errors:>0", '"no such words"'),
)
OF_TURNS = (
    *("model:claude-haiku-4-5", "-model:claude-haiku-4-5", "agent:expert", "agent:[coder,agent-a]"),
    *("provider:openai OR agent:expert", "config:gpt*", "role:judge", "-role:[judge,branch]", "branch:won"),
    *("loop:s.a.1", "-agent:a*", "-provider:anthropic"),
)


@pytest.fixture
def recorded(project, feed):
    """Sessions with judges, branches, sub-agents, compactions, switched models, and calls without a price."""
    for name in ("01", "02", "03", "05", "06", "08"):
        feed(*scenarios.events(scenarios.tape(name)), producer=name)
    feed(*build.handed_over("switched.a.1"), producer="switched")
    feed(*loop("t.a.1", tokens=1_234_567, snapshot=GPT), *loop("t.a.2", tokens=7, snapshot=QWEN))
    feed(*loop("u.a.1", tokens=800_001, snapshot=GPT, agent_id="coder", at=90_000, end=90_009), producer="u")
    feed(*loop("v.a.1", tokens=31), producer="v")
    feed(*loop("running.a.1", tokens=11)[:-1], producer="running")
    bare = [build.agent_start("bare.a.1", config_snapshot=GPT), build.agent_end("bare.a.1", tokens=70_000)]
    feed(*bare, producer="bare")  # billed as one call
    broken = loop("broken.a.1", snapshot=GPT)
    broken[2]["usage"] = broken[3]["usage"] = {"input": 10, "output": 1, "cache_read": 50}
    feed(*broken, producer="broken")  # tokens that do not reconcile
    unnamed = [build.parallel_start("w.a.1", "w.b.2"), *loop("w.a.1", tokens=3), *loop("w.b.2", tokens=4)]
    feed(*unnamed, build.parallel_end("w.a.1", tokens=90), producer="w")
    return project


@pytest.fixture
def figures(recorded):
    return lambda q="", **more: page(recorded, CostsParams(since=SINCE, q=q, **more), LATER).figures


@pytest.fixture
def usage(recorded, client):
    """Return a function that reads usage from the API."""
    bearer = {"Authorization": f"Bearer {tokens.issue(recorded, 'reads', ['read'])}"}

    def usage(q, **more):
        answer = client.get("/api/v1/usage", {"q": q, "limit": 200, **more}, headers=bearer)
        assert answer.status_code == 200, answer.content
        return answer.json()["items"]

    return usage


def nano(items):
    return sum(int(Decimal(item["cost_usd"] or 0).scaleb(9)) for item in items)


def counted(totals):
    """Return the figures of totals; 0 where no call has a price."""
    names = ("loops", "turns", "tokens", "unpriced", "unreconciled", "failed")
    return totals.cost_nano or 0, *(getattr(totals, name) for name in names)


def added(parts):
    return tuple(map(sum, zip(*map(counted, parts), strict=True))) if parts else (0,) * 7


def whole(shown):
    """Return the totals of a page, after checking that all its parts have the same."""
    assert added([row.sum for row in shown.rows]) == counted(shown.sum)
    assert shown.more == 0
    assert sum(bar.total for bar in shown.chart.bars) == (shown.sum.cost_nano or 0)
    assert added([entry.sum for entry in shown.ledger.entries]) == counted(shown.sum)
    return counted(shown.sum)


def test_sums_over_records_equal_those_of_the_rollups(figures):
    for by in ("config", "model", "agent", "session"):
        of_rollups, of_records = figures(by=by), figures("turns:>=0", by=by)
        assert whole(of_records) == whole(of_rollups)
        assert [(row.name.label, row.sum) for row in of_records.rows] == [
            (row.name.label, row.sum) for row in of_rollups.rows
        ]
        assert [bar.total for bar in of_records.chart.bars] == [bar.total for bar in of_rollups.chart.bars]
    assert figures("turns:>=0", sub=False, judge=False).sum == figures(sub=False, judge=False).sum
    assert figures("session:running").sum.cost_nano == 11_000
    assert figures("session:bare").sum.cost_nano == 175_000_000
    assert figures("session:broken").sum.unreconciled == 1


def test_the_costs_of_a_query_are_the_sum_over_the_sessions_that_it_matches(figures, usage, recorded):
    names = list(Session.objects.values_list("session_id", flat=True))
    alone = {name: figures(f'session:"{name}"').sum for name in names}
    of_api = {name: nano(usage(f'session:"{name}"', group_by="agent,day")) for name in names}
    for q in OF_SESSIONS:
        matches = parsed(q).on_sessions(recorded.pk, LATER)
        matched = Session.objects.filter(matches, project=recorded).values_list("session_id", flat=True)
        expected = added([alone[name] for name in matched])
        for by in ("config", "model", "agent", "session"):
            assert whole(figures(q, by=by)) == expected, (q, by)
        assert nano(usage(q)) == sum(of_api[name] for name in matched) == expected[0], q


def test_keys_of_turns_select_turns_of_the_sessions(figures, usage):
    names = list(Session.objects.values_list("session_id", flat=True))
    everything = whole(figures())
    for q in OF_TURNS:
        expected = added([figures(f'({q}) session:"{name}"').sum for name in names])
        rest = figures(f"-({q})").sum
        for by in ("config", "model", "agent", "session"):
            shown = figures(q, by=by)
            assert whole(shown) == expected, (q, by)
            assert added([shown.sum, rest]) == everything, (q, by)
        of_api = usage(q, group_by="model")
        assert nano(of_api) == expected[0], q
        assert sum(row["turns"] for row in of_api) == expected[2], q
        assert of_api == usage(f"({q}) turns:>=0", group_by="model"), q


def test_two_models_of_one_loop_have_the_costs_of_their_turns(figures):
    haiku, sonnet = (
        figures(f"session:switched model:{name}").sum for name in ("claude-haiku-4-5", "claude-sonnet-4-5")
    )
    assert (haiku.turns, haiku.loops, sonnet.turns, sonnet.loops) == (2, 1, 1, 0)
    assert (haiku.cost_nano, sonnet.cost_nano) == (2_000_000, 3_000_000)
    assert figures("session:switched agent:expert").sum.cost_nano == 3_000_000
    assert figures("session:switched (agent:expert OR loops:>9)").sum.cost_nano == 5_000_000


def test_a_selection_without_a_judge_loop_counts_with_its_session_and_as_a_judge(figures):
    assert figures("session:w").sum.unpriced == 1
    assert figures("session:w role:judge").sum.unpriced == 1
    assert figures("session:w", judge=False).sum.unpriced == 0
    assert figures("session:w model:claude-haiku-4-5").sum.unpriced == 0
    assert figures("session:w -model:claude-haiku-4-5").sum.unpriced == 1


def test_any_query_adds_up(figures, usage):
    parts = st.sampled_from([*OF_SESSIONS, *OF_TURNS, "is:mine", "-is:live"])
    queries = st.lists(parts.map(lambda part: f"({part})"), min_size=1, max_size=4)

    @settings(max_examples=40)
    @given(queries, st.sampled_from([" ", " OR ", " -"]), st.sampled_from(["agent", "model", "session"]))
    def check(terms, joined, by):
        q = joined.join(terms)
        shown = whole(figures(q, by=by))
        assert nano(usage(q, group_by="config,day")) == shown[0]
        assert added([figures(f"({q}) session:t").sum, figures(f"({q}) -session:t").sum]) == shown

    check()


def test_durations_are_filtered_before_they_are_cut(feed, project, monkeypatch):
    monkeypatch.setattr("dashboard.shared.queries.durations.OF_CONFIG", 2)
    monkeypatch.setattr("dashboard.shared.queries.durations.OF_PROJECT", 2)
    monkeypatch.setattr("dashboard.shared.queries.durations.SESSIONS", 2)
    feed(*loop("a.a.1", end=4), *loop("b.a.1", end=8, at=2, agent_id="coder"))
    for n in range(5):
        feed(*loop(f"later{n}.a.1", at=100, end=150), producer=f"p{n}")

    def times(by, q):
        shown = page(project, CostsParams(since=SINCE, by=by, q=q), LATER).figures
        return [(row.times.p50, row.times.p95) for row in shown.rows]

    for by in ("config", "model", "agent", "session"):
        assert times(by, "session:a") == times(by, "loop:a.a.1") == [(4_000, 4_000)]
        assert times(by, "agent:coder") == times(by, "agent:coder loops:1") == [(6_000, 6_000)]
    assert times("config", "") == [(50_000, 50_000)]


def test_the_file_has_the_same_costs(feed, see):
    feed(*loop(tokens=1_000_001), *loop("t.a.1", tokens=500_000, snapshot=GPT), *loop("u.a.1", tokens=3))
    for by in ("config", "model", "agent", "session"):
        rows = list(csv.DictReader(io.StringIO(see(f"?q=session:[s,t]&by={by}", "/p/default/costs.csv"))))
        assert sum(Decimal(row["cost_usd"]) for row in rows) == Decimal("2.250001")
    assert "Cost $2.25" in words(see("?q=session:[s,t]"))


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_a_file_of_a_query_in_error_is_refused(client, see, suffix):
    see()
    answer = client.get(f"/p/default/costs.{suffix}", {"q": "costs:>1"})
    assert answer.status_code == 400
    assert "Unknown key" in answer.content.decode()


@pytest.mark.parametrize(
    ("by", "query", "count"),
    [("config", "loops:1", 27), ("session", "loops:1", 29), ("agent", "agent:agent-1", 25)],
)
def test_a_query_takes_as_many_queries_for_fifty_rows_as_for_one(
    feed, see, django_assert_num_queries, by, query, count
):
    def spend(n):
        return loop(f"s{n}.a.1", agent_id=f"agent-{n}", snapshot=config(config_id=f"c{n}", model=f"m{n}"))

    feed(*spend(1))
    see(f"?by={by}&q={query}")
    with django_assert_num_queries(count):
        see(f"?by={by}&q={query}")
    for n in range(2, 60):
        feed(*spend(n), producer=f"p{n}")
    with django_assert_num_queries(count):
        see(f"?by={by}&q={query}")


@pytest.mark.usefixtures("now")
def test_a_personal_query_is_drawn_for_its_reader_alone(feed, project):
    feed(*loop(tokens=1_000_000), *loop("t.a.1", tokens=2_000_000))
    for name, session in (("ada", "s"), ("bob", "t")):
        user = User.objects.create_user(name)
        of = Session.objects.get(session_id=session)
        SessionLabel.objects.create(session=of, project=project, name="metadata.user", value=user.username)
    shown = [
        figures_panel(CostsParams(q="is:mine", reader=reader)).draw([project.pk])[project.pk]
        for reader in User.objects.order_by("pk").values_list("pk", flat=True)
    ]
    assert ["$1.00" in html for html in shown] == [True, False]
    assert ["$2.00" in html for html in shown] == [False, True]
