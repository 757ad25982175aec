"""Costs on the session page, and how each was computed."""

from pathlib import Path

import pytest

from recorder.imports.detect import recordings
from recorder.imports.import_files import import_files
from recorder.imports.report import Report
from recorder.models import LoopRecord, Session
from tests.dashboard.api.test_money import LOCAL, SONNET, loop
from tests.support import build

TAPES = Path(__file__).parents[4] / "tapes"
USED = {"input": 86, "cache_read": 17_817, "cache_write": 1_000, "output": 512, "reasoning": 300}


def one_turn(name, used, config=SONNET, **more):
    message = build.assistant(model=config["model"], provider=config["provider"])
    return [
        build.agent_start(name, config_snapshot=config),
        build.turn_start(name),
        {**build.turn_end(name, message=message, **more), "usage": used},
        {**build.agent_end(name), "usage": used},
    ]


def page_of(see, name):
    found = LoopRecord.objects.get(loop_id=name)
    return see(f"/p/default/sessions/{found.session_id}/loops/{found.pk}")


def test_a_turn_shows_its_cost_by_token_kind_and_the_price_list(feed, see):
    feed(*one_turn("s.a.1", USED))
    page = page_of(see, "s.a.1")

    # 86 x 3 + 17,817 x 0.3 + 1,000 x 3.75 + 512 x 15 = 17,033.1 millionths
    for words in (
        "$0.0170",
        "cache read 17,817 $0.3 $0.0053",
        "input 86 $3 $0.00026",
        "cache write 1,000 $3.75 $0.0038",
        "reasoning 300 $15 $0.0045",
        "output 212 $15 $0.0032",
        "$0.0170331, computed from tokens and prices",
        "claude-sonnet-4-6 at anthropic, genai-prices",
    ):
        assert words in page.text


def test_a_missing_price_is_shown_and_not_a_cost_of_zero(feed, see):
    feed(*one_turn("s.a.1", {"input": 5, "output": 1}, LOCAL))
    page = page_of(see, "s.a.1")

    assert "No price is known for qwen2.5-coder:14b at local" in page.text
    assert "no price" in page.text
    assert "$0" not in page.text


def test_inconsistent_token_counts_are_reported(feed, see):
    feed(
        *one_turn("s.a.1", {"input": 5, "output": 1, "cache_read": 9}, {**SONNET, "api": "open_ai_responses"})
    )

    assert "The token counts of this call are inconsistent" in page_of(see, "s.a.1").text


def test_a_cost_reported_by_the_runtime_is_labelled(feed, see):
    feed(*one_turn("s.a.1", {"input": 5, "output": 1}, LOCAL, cost=0.25))

    assert "$0.25, reported by the runtime" in page_of(see, "s.a.1").text


def test_the_header_of_a_loop_billed_as_one_call_shows_the_breakdown(feed, see):
    start, _, _, end = one_turn("s.a.1", USED)
    feed(start, end)

    assert "cache read 17,817 $0.3" in page_of(see, "s.a.1").part(
        f"session-loop-head-{LoopRecord.objects.get().pk}"
    )


def test_the_session_header_shows_its_own_cost_and_that_with_sub_agents(feed, see):
    feed(*loop("s.a.1"), *loop("t.sub.1", parent="s.a.1"))
    parent, child = Session.objects.order_by("pk")

    head = see(f"/p/default/sessions/{parent.pk}").part(f"session-header-{parent.pk}")
    assert "Cost, with sub-agents $0.0060 own $0.0030" in head
    head = see(f"/p/default/sessions/{child.pk}").part(f"session-header-{child.pk}")
    assert "Cost $0.0030" in head


@pytest.mark.parametrize(
    ("tape", "is_labelled"),
    [
        ("claude-code/plain", True),
        ("gemini-cli/write", True),
        ("opencode/write", False),
        ("pi/branch", False),
    ],
)
def test_the_computed_cost_of_a_subscription_is_a_list_price_equivalent(project, see, tape, is_labelled):
    files = [path for path in (TAPES / tape).iterdir() if path.name != "expected.json"]
    report = Report()
    import_files(project, recordings(files, "auto", report), report, lambda size, label: None, flush=True)

    found = Session.objects.get()
    head = see(f"/p/default/sessions/{found.pk}").part(f"session-header-{found.pk}")

    assert found.cost_nano
    assert ("list-price equivalent" in head) == is_labelled


def test_a_cost_of_a_native_session_is_no_list_price_equivalent(feed, see):
    feed(*one_turn("s.a.1", USED))

    assert "list-price equivalent" not in page_of(see, "s.a.1").text
