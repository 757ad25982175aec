"""Costs in the read API: sums, sub-agents, usage by config and day, the most expensive sessions."""

from decimal import Decimal

import pytest

from tests.support import build

SONNET = {"model": "claude-sonnet-4-6", "provider": "anthropic", "api": "anthropic_messages"}
LOCAL = {"model": "qwen2.5-coder:14b", "provider": "local", "api": "open_ai_completions"}


def loop(name, tokens=1_000, config=SONNET, at=0, **start):
    """Return a loop of one turn; 1,000 tokens of Sonnet cost 0.3 cents."""
    message = build.assistant(tokens=tokens, model=config["model"], provider=config["provider"])
    return [
        build.agent_start(name, config_snapshot=config, at=at, **start),
        build.turn_start(name, at=at + 1),
        build.turn_end(name, tokens=tokens, message=message, at=at + 8),
        build.agent_end(name, tokens=tokens, messages=[message], at=at + 9),
    ]


def money(item, name="cost_usd"):
    return None if item[name] is None else Decimal(item[name])


def test_a_sum_with_unpriced_parts_is_unpriced_and_null_without_any_price(get, feed):
    feed(*loop("s.a.1"), *loop("s.b.2", config=LOCAL), *loop("t.a.1", config=LOCAL))
    known, unknown = get("sessions", sort="created")["items"]

    assert (money(known), known["cost_source"], known["unpriced"]) == (Decimal("0.003"), "computed", True)
    assert (money(unknown), unknown["cost_source"], unknown["unpriced"]) == (None, "none", True)


def test_a_cost_in_the_event_has_the_source_reported(get, feed):
    start, turn, end, done = loop("s.a.1", config=LOCAL)
    feed(start, turn, {**end, "cost": 0.0206}, done)
    (item,) = get("loops")["items"]

    assert (item["cost_usd"], item["cost_source"], item["unpriced"]) == ("0.0206", "reported", False)


def test_the_inclusive_cost_counts_each_sub_agent_once(get, feed):
    feed(
        build.agent_start("s.a.1", config_snapshot=SONNET),
        build.tool_end("s.a.1", child="t.sub.1"),
        *loop("t.sub.1", parent="s.a.1"),
        *loop("u.sub.1", parent="t.sub.1", config=LOCAL),
        *loop("s.a.1")[2:],
    )
    top = get("sessions/s")
    loops = {each["loop_id"]: each for name in "stu" for each in get(f"sessions/{name}")["loops"]}

    assert (money(top), money(top, "inclusive_cost_usd"), top["inclusive_unpriced"]) == (
        Decimal("0.003"),
        Decimal("0.006"),
        True,
    )
    assert money(loops["s.a.1"], "inclusive_cost_usd") == Decimal("0.006")
    assert money(loops["t.sub.1"], "inclusive_cost_usd") == Decimal("0.003")
    assert money(loops["u.sub.1"], "inclusive_cost_usd") is None


@pytest.mark.parametrize("sort", ["-cost", "cost"])
def test_sessions_are_paged_in_the_order_of_their_cost(get, feed, sort):
    for name, tokens in (("a", 3_000), ("b", 0), ("c", 2_000), ("d", 2_000)):
        feed(*loop(f"{name}.x.1", tokens))
    feed(*loop("e.x.1", config=LOCAL))
    seen, cursor = [], {}
    while cursor is not None:
        page = get("sessions", sort=sort, limit=2, **cursor)
        seen += [item["session_id"] for item in page["items"]]
        cursor = {"cursor": page["next"]} if page["next"] else None

    assert seen == list("adcbe" if sort == "-cost" else "ebcda")


def test_min_cost_is_a_lower_bound(get, feed):
    feed(*loop("a.x.1", 3_000), *loop("b.x.1", 1_000), *loop("c.x.1", config=LOCAL))

    assert [item["session_id"] for item in get("sessions", min_cost="0.009")["items"]] == ["a"]
    assert get("sessions", min_cost="0.0090001")["total"] == 0
    assert get("sessions", min_cost="0")["total"] == 2


def test_usage_by_config_adds_up_to_the_totals_of_the_sessions(get, feed):
    for scenario in ("01-tools-two-prompts", "03-parallel-judge", "12-total-tokens-zero"):
        feed(scenario=scenario, flush=True)
    rows = get("usage")
    sessions = get("sessions")["items"]

    assert rows["total"] == len(rows["items"]) > 4
    assert sum(filter(None, map(money, rows["items"]))) == sum(filter(None, map(money, sessions)))
    assert sum(row["turns"] for row in rows["items"]) == sum(item["turns"] for item in sessions)
    assert sum(row["loops"] for row in rows["items"]) == sum(item["loops"] for item in sessions)


def test_usage_by_day_counts_a_call_on_the_day_it_ended(get, feed):
    day = 24 * 3_600
    feed(*loop("s.a.1", 1_000), *loop("s.a.2", 2_000, at=day), *loop("s.a.3", 4_000, at=2 * day))
    rows = get("usage", group_by="config,day")["items"]

    assert [(row["day"], row["turns"], row["loops"], row["cost_usd"]) for row in rows] == [
        ("2026-02-11", 1, 1, "0.003"),
        ("2026-02-12", 1, 1, "0.006"),
        ("2026-02-13", 1, 1, "0.012"),
    ]
    assert (rows[0]["p50_ms"], rows[0]["p95_ms"], rows[0]["config"]["model"]) == (
        9_000,
        9_000,
        SONNET["model"],
    )
    (row,) = get("usage", since="2026-02-12T00:00:00Z", until="2026-02-13T00:00:00Z")["items"]
    assert (row["turns"], row["cost_usd"], row["day"]) == (1, "0.006", None)
    page = get("usage", group_by="config,day", limit=2)
    assert get("usage", group_by="config,day", limit=2, cursor=page["next"])["items"] == rows[2:]


def test_usage_takes_a_period_that_reaches_to_an_end_of_the_calendar(get, feed):
    feed(*build.small_loop())

    rows = get("usage")["items"]

    assert rows
    assert get("usage", since="0001-01-01T00:00:00Z", until="9999-12-31T23:59:59Z")["items"] == rows
    assert not get("usage", until="0001-01-01T00:00:00Z")["items"]


def test_usage_takes_a_fixed_number_of_queries(get, feed, django_assert_num_queries):
    get("usage")  # the first request after a start reads more
    for number in range(50):
        feed(*loop(f"s{number}.a.1", config={**SONNET, "temperature": number / 100}, at=number * 3_600))
    with django_assert_num_queries(7):
        assert len(get("usage", group_by="config,day", limit=200)["items"]) == 50
    with django_assert_num_queries(7):
        assert len(get("usage", group_by="config,day", limit=200, q="loops:1 -agent:x")["items"]) == 50


def test_the_overhead_of_a_group_without_a_recorded_judge_is_unknown(get, feed):
    feed(build.parallel_start(), *loop("s.a.1"), *loop("s.b.2"), build.parallel_end(tokens=9))
    (group,) = get("groups")["items"]

    assert (group["total_cost_usd"], group["unpriced"], group["overhead_ratio"]) == ("0.006", True, None)
