"""Costs of an evaluation: its judge is counted once, unpriced branches are never the cheapest."""

import json
from decimal import Decimal

from dashboard.rendering.number_format import money, percent
from tests.dashboard.pages.evaluations.branches import branch, end, judge, start


def test_a_rule_that_selected_the_most_expensive_branch_is_reported(feed, evaluation):
    feed(tape="12")

    assert (
        "was selected by a rule. There was no judge. It is the most expensive branch: it cost "
        in evaluation().text
    )


def test_the_judge_is_counted_once_in_what_the_group_cost(feed, see, evaluation, reader):
    feed(tape="03")
    item = reader.get("/api/v1/groups?project=default").json()["items"][0]
    parts = [Decimal(each["cost_usd"]) for each in (*item["branches"], item["judge"])]
    winner, total = parts[0], sum(parts)

    page, listed = evaluation(), see("/p/default/evaluations")

    assert item["total_cost_usd"] == str(total)
    assert f"{nano(total)} for the group" in page.text
    assert f"judge {percent(float(parts[-1] / total))}" in page.text
    assert f"Share of group {percent(float(parts[-1] / total))}" in page.text
    assert f"{nano(total - winner)} more than running the winner only." in page.text
    assert f"{nano(total)} {percent(float((total - winner) / winner))}" in listed.text
    assert item["url"] == f"/p/default/evaluations/{item['id']}"


def nano(dollars):
    return money(int(dollars * 10**9))


def test_an_unpriced_branch_is_never_the_cheapest_and_never_free(feed, evaluation):
    unknown = [json.loads(json.dumps(e).replace("claude-sonnet-4-6", "model-2")) for e in branch(2, "Two.")]
    feed(start(1, 2), *branch(1, "One.", tokens=1_000_000), *unknown, *judge("1"), end(1))

    page = evaluation()

    assert "no price" in page.text
    assert "$6.00 + for the group" in page.text
    assert "cheapest" not in page.text
    assert "Share of group" not in page.text


def test_cached_tokens_are_counted_once_in_every_usage_convention(feed, evaluation):
    use = {"input": 17_903, "output": 30, "reasoning": 20, "cache_read": 17_817, "cache_write": 0}
    lines = [e | ({"usage": use} if e["type"] in ("TurnEnd", "AgentEnd") else {}) for e in branch(1, "One.")]
    openai = json.loads(json.dumps(lines).replace("anthropic_messages", "open_ai_responses"))
    feed(start(1), *openai, end(1))

    assert "Input 86" in evaluation().text
    assert "Tokens 17.9k" in evaluation().text
