"""The leaderboard as page, CSV and API, against the hand calculation in expected_standings.py."""

import csv
import json
from io import StringIO
from itertools import chain

import pytest

from dashboard.rendering.number_format import NONE
from recorder.models import ModelConfig, Project
from tests.dashboard.pages.leaderboard.conftest import TAPES, Page
from tests.dashboard.pages.leaderboard.expected_standings import (
    COST_NANO,
    JUDGE,
    MODELS,
    config,
    evaluation,
    loop,
)
from tests.support import build

OPUS, SONNET, HAIKU, GPT = MODELS.values()
QUERIES = 15


def test_the_table_equals_the_hand_calculation(see, four):
    assert see().table == [
        ["1", OPUS, "47.5% 32.9-62.5", "", "19", "40", "5 of 5", "$0.0300", "$0.0632", "9.0s", "75%"],
        ["2", SONNET, "43.3% 31.6-55.9", "", "26", "60", "0 of 5", "$0.0180", "$0.0415", "9.0s", "75%"],
        ["3", HAIKU, "20.0% 11.8-31.8", "", "12", "60", "0 of 5", "$0.0060", "$0.0300", "9.0s", "75%"],
        ["4", GPT, "7.5% 2.6-19.9", "", "3", "40", "0 of 5", "$0.0112", "$0.150", "9.0s", "75%"],
    ]


def test_the_verdict_comes_first_in_words(see, four):
    text = see().text

    assert "60 judged evaluations, 1 judge, 5 decided by rule, 3 by fallback." in text
    assert f"{OPUS} leads: it won 19 of 40 judged evaluations, 47.5% (32.9-62.5), at $0.0632 a win." in text
    assert f"The cheapest wins are those of {HAIKU} , at $0.0300." in text


def test_single_config_costs_equal_the_hand_calculation(see, four):
    assert see().section("instead") == [
        [OPUS, "40", "$2.73", "$1.20", "228%", "48% 19 of 40"],
        [SONNET, "60", "$3.27", "$1.08", "303%", "43% 26 of 60"],
        [HAIKU, "60", "$3.27", "$0.360", "908%", "20% 12 of 60"],
        [GPT, "40", "$2.73", "$0.450", "607%", "7.5% 3 of 40"],
    ]


def test_pairs_are_compared_within_one_lineup(see, four):
    found = see().section("pairs")

    assert found[2] == [OPUS, GPT, "19 to 3", "0.0009", "significant"]
    assert found[5] == [HAIKU, GPT, "7 to 3", "0.3437", "not significant"]
    assert "15 to 5" in see().text


def test_the_frontier_is_filled_and_what_is_dominated_is_not(see, four):
    chart = see().html.split('class="chart"', 1)[1].split("</svg>", 1)[0]
    dots = {
        dot.split("<title>")[1].split(":")[0]: 'class="is-dominated"' in dot for dot in chart.split("<g ")[1:]
    }

    assert dots == {OPUS: False, SONNET: False, HAIKU: False, GPT: True}


def test_a_cell_of_the_matrix_leads_to_its_evaluations(see, four, member):
    page, keys = see(), dict(ModelConfig.objects.values_list("model", "key"))

    cells = [cell.rpartition(": ")[2] for cell in page.section("head-to-head")[0]]
    assert cells == [OPUS, "", "63 40", "73 40", "86 40"]
    assert f"{OPUS} against {GPT}, 19 to 3:" in page.text
    href = f"/p/default/evaluations?config={keys[OPUS]}&config={keys[GPT]}&verdict=judged"
    assert f'href="{href}"'.replace("&", "&amp;") in page.html
    assert "40 evaluations" in Page(member.get(href).content.decode()).text


def test_the_file_and_the_api_agree_with_the_page(see, four, member, get):
    answer = member.get("/p/default/leaderboard?format=csv")
    rows = list(csv.DictReader(StringIO(answer.content.decode())))
    items = get("configs")["items"]

    assert (
        [row["config"] for row in rows] == [item["config"]["label"] for item in items] == [*MODELS.values()]
    )
    for row, item in zip(rows, items, strict=True):
        for name in ("groups", "judged", "wins", "win_rate", "ci_low", "ci_high", "p95_ms", "rank"):
            assert row[name] == str(item[name])
        for name in ("cost_per_task_usd", "cost_per_win_usd"):
            assert row[name] == item[name]
        assert row["wins_by_position"] == " ".join(map(str, item["wins_by_position"]))
        assert row["unpriced"] == "no"
        assert item["unpriced"] is False
    sonnet = items[1]
    assert (sonnet["groups"], sonnet["judged"], sonnet["wins"]) == (68, 60, 26)
    assert (sonnet["cost_per_task_usd"], sonnet["cost_per_win_usd"]) == ("0.018", "0.041538462")
    assert (sonnet["win_rate"], sonnet["ci_low"]) == (pytest.approx(26 / 60), pytest.approx(0.3157240))
    assert (sonnet["ruled"], sonnet["picked_by_rule"], sonnet["fallback"]) == (5, 0, 3)
    assert sum(sonnet["wins_by_position"]) == 26


def test_the_api_gives_pages(get, four):
    first = get("configs", limit=3)
    rest = get("configs", limit=3, cursor=first["next"])

    assert [item["rank"] for item in first["items"] + rest["items"]] == [1, 2, 3, 4]
    assert (first["total"], rest["next"]) == (4, None)
    assert get("configs", cursor=99)["items"] == []


def test_a_project_without_ended_evaluations_has_an_empty_board(see, feed, get):
    assert "No evaluations yet." in see().text
    feed(*evaluation(1, "AB", 0)[:-1])
    assert "No evaluations yet." in see().text
    assert get("configs") == {"items": [], "next": None, "total": 0}


def test_without_a_judge_there_is_no_leader(see, feed):
    feed(*evaluation(1, "AB", 1, judge=None))
    page = see()

    assert "No ranking: no evaluation was decided by a judge." in page.text
    assert page.table[0][:7] == [NONE, OPUS, NONE, "", "0", "0", "0 of 1"]
    assert page.table[1][6] == "1 of 1"


def test_a_fallback_is_not_a_win(see, feed):
    feed(*evaluation(1, "AB", 0, reply="I like both."))

    assert [row[4:6] for row in see().table] == [["0", "0"], ["0", "0"]]


def test_few_evaluations_give_no_rank(see, feed):
    feed(*chain.from_iterable(evaluation(n, "AB", 0) for n in range(19)))
    assert [row[0] for row in see().table] == ["Too few to rank", "Too few to rank"]
    assert "a config needs 20 judged evaluations to be ranked" in see().text
    assert "No config has 20 judged evaluations." in see().text

    feed(*evaluation(19, "AB", 0))
    assert [row[0] for row in see().table] == ["1", "2"]


def test_a_single_config_has_a_board(see, feed):
    feed(*chain.from_iterable(evaluation(n, "A", 0) for n in range(20)))
    page = see()

    assert page.table[0][:3] == ["1", OPUS, "100.0% 83.9-100.0"]
    assert "Pair by pair" not in page.text


def test_a_config_twice_in_a_group_counts_once_and_is_in_no_pair(see, feed):
    feed(*evaluation(1, "AAB", 1), *evaluation(2, "AAB", 2))
    page = see()

    assert page.table[0][4:6] == ["1", "2"]
    assert page.table[0][7] == "$0.0600"
    assert "Pair by pair" not in page.text


def unpriced(n, lineup, won=0):
    """Return an evaluation in which B is a model without a price."""
    events = evaluation(n, lineup, won)
    for event in events:
        if event["type"] == "TurnEnd" and ".B." in event["loop_id"]:
            event["message"] = build.assistant(model="house-model", provider="house")
            del event["cost"]
        if event["type"] == "AgentStart" and ".B." in event["loop_id"]:
            event["config_snapshot"] = {"model": "house-model", "provider": "house"}
    return events


def test_a_config_without_a_price_is_drawn_hollow_at_the_left_edge(see, feed):
    feed(*chain.from_iterable(unpriced(n, "AB") for n in range(20)))
    page = see()
    chart = page.html.split('class="chart"', 1)[1].split("<h2", 1)[0]
    drawn = {part.split("<title>")[1].split(":")[0].strip(): part for part in chart.split("<g ")[1:]}

    assert set(drawn) == {OPUS, "house-model"}
    assert ('class="is-bound"' in drawn["house-model"], 'class="is-bound"' in drawn[OPUS]) == (True, False)
    assert 'cx="6.0%"' in drawn["house-model"]
    assert "or more, as calls have no price" in drawn["house-model"]
    assert "Hollow, with an arrow" in page.text
    assert "Not shown" not in page.text


def test_no_cheapest_is_named_that_a_lower_bound_in_the_table_contradicts(see, feed):
    feed(*chain.from_iterable(evaluation(n, "AC", 0 if n % 3 else 1) for n in range(20)))
    assert f"The cheapest wins are those of {HAIKU}" in see().text

    feed(*chain.from_iterable(unpriced(n, "AB", 1) for n in range(20, 22)))
    assert f"Among ranked configs, the cheapest wins are those of {HAIKU}" in see().text

    feed(*chain.from_iterable(unpriced(n, "AB", 1) for n in range(22, 40)))
    assert "cheapest wins" not in see().text


def test_unpriced_branches_are_reported_and_never_free(see, feed, get, member):
    feed(*chain.from_iterable(unpriced(n, "AB") for n in range(20)))
    page = see()
    row = next(row for row in page.table if row[1] == "house-model")

    assert row[7:9] == ["no price", NONE]
    assert page.section("instead")[0][2:5] == ["$0.660 +", "$0.600", NONE]
    item = next(item for item in get("configs")["items"] if item["config"]["model"] == "house-model")
    assert (item["cost_per_task_usd"], item["unpriced"]) == (None, True)


def test_a_judge_that_favours_a_position_is_named_unless_it_may_be_the_config(see, feed):
    turns = ["ABCD"[n % 4 :] + "ABCD"[: n % 4] for n in range(12)]
    feed(*chain.from_iterable(evaluation(n, turns[n], 0) for n in range(12)))
    text = see().text

    # Twelve of twelve at the first of four: 4 * (1/4)^12.
    assert f"{JUDGE} chose position 1 in 12 of 12 evaluations with 4 branches." in text
    assert "The preference is significant (p <0.0001). Change the order" in text

    feed(*chain.from_iterable(evaluation(100 + n, "BC", 0) for n in range(9)))
    assert (
        f"{SONNET} was at that position in 100% of them, so the config may be the cause, not the judge."
        in see().text
    )


def test_filters_are_in_the_query_string(see, feed, member):
    feed(*evaluation(1, "AB", 0), *evaluation(2, "CD", 0, judge="another-judge"))
    key = ModelConfig.objects.get(model="another-judge").key

    assert [row[1] for row in see(f"?judge={key}").table] == [HAIKU, GPT]
    assert [row[1] for row in see("?task=e1").table] == [OPUS, SONNET]
    assert len(see("?agent=agent-a").table) == 4
    assert "No matching evaluations." in see("?agent=nobody").text
    assert "No matching evaluations." in see("?judge=nobody").text
    assert "No matching evaluations." in see("?since=7d").text  # all of it is of February
    assert "Ignored since “soon”" in see("?since=soon&task=%00&agent=%00").text
    answer = member.get(f"/p/default/leaderboard?judge={key}&format=csv")
    assert answer.content.count(b"\r\n") == 3


def test_the_api_takes_the_same_filters(get, feed):
    feed(*evaluation(1, "AB", 0), *evaluation(2, "CD", 0, judge="another-judge"))
    key = ModelConfig.objects.get(model="another-judge").key

    assert get("configs", judge=key)["total"] == 2
    assert get("configs", until="2026-01-01T00:00:00Z")["total"] == 0
    assert get("configs", since="2026-01-01T00:00:00Z", agent="agent-a")["total"] == 4
    assert get("configs", since="soon", expect=400)["code"] == "bad_query"


def test_hostile_names_are_text_and_not_formulas(see, feed, member):
    model = '=HYPERLINK("x")<script>alert(1)'
    events = evaluation(1, "AB", 0)
    for event in events:
        if event["type"] == "AgentStart" and ".A." in event["loop_id"]:
            event["config_snapshot"] = config(model)
            event["agent_id"] = "<script>alert(2)</script>"
    feed(*events)

    assert "<script>alert" not in see().html
    assert b"\"'=HYPERLINK" in member.get("/p/default/leaderboard?format=csv").content


def test_huge_amounts_do_not_overflow(see, feed):
    costs = dict.fromkeys(COST_NANO, 2 * 10**18)
    feed(*chain.from_iterable(evaluation(n, "AB", 0, costs=costs) for n in range(5)))

    assert see().table[0][7] == "$2,000,000,000"


def test_a_branch_that_never_started_does_not_count(see, feed):
    feed(
        build.parallel_start("s.a", "s.b"),
        *loop("s.a", "s", OPUS, 5),
        *loop("s.j", "s", JUDGE, 5, answer="1"),
    )
    feed(build.parallel_end("s.a", index=0))

    assert [row[1] for row in see().table] == [OPUS]


def test_another_project_and_strangers_see_nothing(see, feed, member, client):
    other = Project.objects.create(slug="other")
    feed(*evaluation(1, "AB", 0), into=other)

    assert see().html.count("<tbody>") == 0
    assert member.get("/p/other/leaderboard").status_code == 404
    client.logout()
    assert client.get("/p/default/leaderboard").status_code == 302


def test_fifty_configs_take_as_many_queries_as_two(see, feed, django_assert_num_queries):
    feed(*evaluation(1, "AB", 0))
    see()
    with django_assert_num_queries(QUERIES):
        see()
    for n in range(25):
        names = {f"e{n}x.A.0": f"model-{2 * n}", f"e{n}x.B.1": f"model-{2 * n + 1}"}
        events = evaluation(f"{n}x", "AB", 0)
        for event in events:
            if event["type"] == "AgentStart" and event["loop_id"] in names:
                event["config_snapshot"] = config(names[event["loop_id"]])
        feed(*events)
    with django_assert_num_queries(QUERIES):
        page = see()
    assert len(page.table) == 52


def test_forty_one_of_eighty_is_rounded_half_up(see, feed):
    feed(*chain.from_iterable(evaluation(n, "AB", int(n >= 41)) for n in range(80)))

    assert see().table[0][1:3] == [OPUS, "51.3% 40.5-61.9"]


def test_evaluations_of_phi_core_without_a_judge_give_no_rank(see, feed, get):
    for scenario in ("03-parallel-judge", "12-total-tokens-zero"):
        feed(*map(json.loads, (TAPES / f"{scenario}.events.jsonl").read_text().splitlines()))
    page = see()

    assert "1 judged evaluation, 1 judge, 1 decided by rule." in page.text
    assert {row[0] for row in page.table} <= {"Too few to rank", NONE}
    assert [item["wins"] for item in get("configs")["items"] if item["judged"]].count(1) == 1
