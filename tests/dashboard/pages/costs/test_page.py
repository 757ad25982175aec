"""The costs page as a reader sees it."""

import pytest
from django.contrib.auth.models import User

from dashboard.pages.costs.params import SORTS
from recorder.models import LoopRecord, Membership, Project, Turn
from tests.dashboard.page_model import parse
from tests.dashboard.pages.costs.conftest import config, loop

NONE = "\N{EN DASH}"
GPT = config("gpt-4o", "openai", "open_ai_completions")
QWEN = config("qwen3-coder-30b", "local", "open_ai_completions")
HOSTILE = '"><script>alert(1)</script>'


def words(html, under="main"):
    root = next(element for element in parse(html).walk() if element.tag == under)
    return " ".join(" ".join(_texts(root)).split())


def _texts(element):
    for child in element.children:
        if isinstance(child, str):
            yield child
        else:
            yield from _texts(child)


def test_a_page_without_data_has_empty_states(see):
    page = see()

    assert "No costs in the last 7 days." in page
    assert "No loop ended in the last 7 days." in page
    assert "No prices yet." in page
    assert "$0" not in words(page)


def test_cost_is_in_tile_chart_table_and_ledger(feed, see):
    feed(*loop(tokens=1_000_000))

    shown = words(see())

    assert "Cost $1.00 Tokens 1.00M Cost per loop $1.00" in shown
    assert "Wed 11 Feb: $1.00" in shown
    assert f"claude-haiku-4-5 1 1 1.00M {NONE} {NONE} {NONE} {NONE} {NONE} $1.00 $1.00 9.0s 9.0s 0%" in shown
    assert "Single loops No group, no rerun, not aborted 1 1 1.00M $1.00 100%" in shown


def test_the_chart_has_a_table_with_the_same_numbers(feed, see):
    feed(*loop(tokens=1_000_000), *loop("t.a.1", tokens=2_000_000, at=60, end=70))

    chart = parse(see("?since=24h"))
    (table,) = [
        element for element in chart.walk() if element.attributes.get("aria-label") == "The chart as a table"
    ]
    (readouts,) = [element for element in chart.walk() if element.attributes.get("class") == "chart-bars"]

    assert "11 Feb 09:00 $3.00 $3.00" in " ".join(" ".join(_texts(table)).split())
    assert "11 Feb 09:00 claude-haiku-4-5 $3.00 Total $3.00" in " ".join(" ".join(_texts(readouts)).split())


@pytest.mark.parametrize("by", ["config", "model", "agent", "session"])
def test_the_table_can_be_grouped_by_every_key(feed, see, by):
    feed(
        *loop(tokens=1_000_000),
        *loop("t.a.1", tokens=500_000, snapshot=GPT),
    )

    shown = words(see(f"?by={by}"))

    first = {"agent": "agent-a", "session": "t"}.get(by, "gpt-4o")
    assert f"By {by}" in shown
    assert f"Failed {first}" in shown
    assert f"Total 2 2 1.50M {NONE} {NONE} {NONE} {NONE}" in shown
    assert "$2.25" in shown


@pytest.mark.parametrize("sort", SORTS)
def test_every_column_sorts(feed, see, sort):
    feed(*loop(tokens=1_000_000), *loop("t.a.1", tokens=500_000, snapshot=GPT))
    page = parse(see(f"?sort={sort}"))
    (table,) = [e for e in page.walk() if e.attributes.get("aria-label") == "Costs by config"]
    (head,) = [e for e in table.walk() if "aria-sort" in e.attributes]
    (link,) = [e for e in head.walk() if e.tag == "a"]

    is_down = sort.startswith("-")
    assert head.attributes["aria-sort"] == ("descending" if is_down else "ascending")
    other = sort[1:] if is_down else f"-{sort}"
    assert link.attributes["href"] == ("?" if other == "-cost" else f"?sort={other}")


def test_rows_are_in_the_order_of_a_column_and_unknown_values_last(feed, see):
    feed(*loop(tokens=1_000_000), *loop("t.a.1", tokens=500_000, snapshot=GPT))
    feed(*loop("u.a.1", tokens=400_000, snapshot=config("home-grown", "local")))

    def names(sort):
        rows = words(see(f"?by=model&sort={sort}")).partition("By model")[2].partition("Failed ")[2]
        return sorted(("claude-haiku-4-5", "gpt-4o", "home-grown"), key=rows.index)

    assert names("-cost") == ["gpt-4o", "claude-haiku-4-5", "home-grown"]
    assert names("cost") == ["claude-haiku-4-5", "gpt-4o", "home-grown"]
    assert names("input") == ["home-grown", "gpt-4o", "claude-haiku-4-5"]
    assert names("-name") == ["home-grown", "gpt-4o", "claude-haiku-4-5"]


def test_filters_exclude_other_rows(feed, see):
    feed(
        *loop(tokens=1_000_000),
        *loop("t.a.1", tokens=500_000, snapshot=GPT),
    )

    assert "Cost $1.25" in words(see("?model=gpt-4o"))
    assert "Cost $2.25" in words(see("?agent=agent-a"))
    assert "No matches in the last 7 days." in see("?agent=nobody")
    assert "Ignored since “forever”" in see("?since=forever")


@pytest.mark.parametrize("by", ["config", "model", "agent", "session"])
@pytest.mark.parametrize(
    "query", ["", "&model=gpt-4o", "&agent=agent-a", "&agent=coder&model=gpt-4o", "&since=1h", "&since=24h"]
)
def test_the_tiles_are_the_sums_of_the_rows(feed, see, by, query):
    feed(*loop(tokens=1_000_000, at=-7_200, end=-7_000))
    feed(*loop("t.a.1", tokens=400_000, snapshot=GPT))
    feed(*loop("u.a.1", tokens=800_000, snapshot=GPT, agent_id="coder"))
    page = parse(see(f"?by={by}{query}"))
    (table,) = [e for e in page.walk() if e.attributes.get("aria-label") == f"Costs by {by}"]
    rows = [row for row in table.walk() if row.tag == "tr"][1:-1]
    loops = [int(" ".join(_texts(row.elements[1])).split()[0]) for row in rows]
    costs = [float(" ".join(_texts(row.elements[10])).strip().lstrip("$")) for row in rows]
    (total,) = [row for row in table.walk() if row.tag == "tfoot"]
    tile = next(e for e in page.walk() if e.attributes.get("class") == "tile")
    assert rows
    assert sum(loops) == int(" ".join(_texts(total.elements[0].elements[1])).split()[0])
    assert f"Cost ${sum(costs):.2f}" in " ".join(" ".join(_texts(tile)).split())


def test_a_model_without_a_price_is_listed_and_never_free(feed, see):
    feed(*loop(tokens=1_000, snapshot=QWEN))

    page = see()

    assert "qwen3-coder-30b has no price. 1 call and 1.0k tokens are missing from the cost totals." in words(
        page
    )
    assert "$0" not in words(page)
    assert "No prices in the last 7 days." in page
    assert 'name="input.1"' in page


def test_a_sum_without_unpriced_calls_has_a_plus_sign(feed, see):
    feed(
        *loop(tokens=1_000_000),
        *loop("t.a.1", snapshot=QWEN),
    )

    assert "Cost $1.00 +" in words(see())


def test_calls_that_do_not_reconcile_are_flagged(feed, see):
    broken = {"input": 10, "output": 1, "cache_read": 50}
    events = loop(snapshot=GPT)
    events[2] |= {"usage": broken}
    events[3] |= {"usage": broken}
    feed(*events)

    shown = words(see())

    assert "1 call cannot be split into cached and new tokens." in shown
    assert "gpt-4o has no price" not in shown


def test_hostile_names_are_text(feed, see):
    feed(*loop(agent_id=HOSTILE, snapshot=config(HOSTILE, HOSTILE), title=HOSTILE))

    for by in ("config", "model", "agent", "session"):
        page = see(f"?by={by}")
        assert "<script>alert" not in page


def test_another_project_is_not_shown(feed, see):
    other = Project.objects.create(slug="other")
    feed(*loop(tokens=1_000_000), into=other)

    assert "No costs in the last" in see()


def test_a_user_without_membership_gets_404(client, project, now):
    client.force_login(User.objects.create_user("stranger"))

    assert client.get("/p/default/costs").status_code == 404
    assert client.get("/p/default/costs.csv").status_code == 404


@pytest.mark.parametrize(("by", "queries"), [("config", 27), ("model", 27), ("agent", 25), ("session", 28)])
def test_fifty_rows_take_as_many_queries_as_one(feed, see, django_assert_num_queries, by, queries):
    def spend(n):
        return loop(f"s{n}.a.1", agent_id=f"agent-{n}", snapshot=config(config_id=f"c{n}", model=f"m{n}"))

    feed(*spend(0))
    see(f"?by={by}")
    with django_assert_num_queries(queries):
        see(f"?by={by}")
    for n in range(1, 60):
        feed(*spend(n), producer=f"p{n}")
    with django_assert_num_queries(queries):
        page = see(f"?by={by}")
    shown = words(page)
    assert ("The total has 10 more, which cost less." in shown) is (by != "session")
    assert ("other sessions 11 11" in shown) is (by == "session")


def test_durations_are_of_the_loops_of_the_period(feed, see, monkeypatch):
    for n in range(20):
        feed(*loop(f"s{n}.a.1", at=0, end=n + 1), producer=f"p{n}")

    assert "10s 19s" in words(see())
    assert LoopRecord.objects.filter(duration_ms=20_000).exists()
    assert Turn.objects.count() == 20


def test_durations_follow_the_filters(feed, see):
    feed(*loop("a.a.1", at=0, end=10), producer="p1")
    feed(*loop("b.b.1", at=0, end=3, agent_id="agent-b"), producer="p2")
    feed(*loop("c.c.1", at=0, end=5, agent_id="agent-b", snapshot=GPT), producer="p3")

    assert "claude-haiku-4-5 2 2" in words(see())
    assert "3.0s 10s" in words(see())
    assert "3.0s 3.0s" in words(see("?agent=agent-b&model=claude-haiku-4-5"))
    assert "5.0s 5.0s" in words(see("?by=agent&model=gpt-4o"))
    assert "10s 10s" in words(see("?by=session&agent=agent-a"))


def test_the_links_of_the_table_keep_the_period_and_the_filters(feed, see):
    feed(*loop())

    assert 'href="?since=30d&amp;q=-tool%3Ax+agent%3Aagent-a&amp;by=agent&amp;judge=0"' in see(
        "?by=agent&since=30d&judge=0&q=-tool:x"
    )


@pytest.mark.parametrize("role", ["viewer", "member"])
def test_who_may_not_set_prices_reads_and_sees_no_forms(feed, see, user, role):
    Membership.objects.update(role=role)
    feed(*loop(snapshot=QWEN))

    page = see()

    assert "data-viewer" in page
    assert 'id="price-form"' not in page
    assert "Add price" not in page
