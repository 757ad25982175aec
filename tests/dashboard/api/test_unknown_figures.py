"""What a runtime did not say is null in the read API, or marked as inferred."""

import pytest

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import LoopRecord
from tests.support import build
from tests.support.foreign_tapes import tape

pytestmark = pytest.mark.django_db(transaction=True)


def play(project, *events, producer="p", **fields):
    lines = [event if isinstance(event, bytes) else build.line(event) for event in events]
    assert ingest(Batch(project.pk, producer, 0, lines, **fields)).rejected == []


def loop(name="s.a.1", provider="anthropic", model="claude-sonnet-4-6", **usage):
    answer = build.assistant(model=model, provider=provider)
    counts = {"input": 100, "output": 10, **usage}
    return [
        build.agent_start(name, config_snapshot={"model": model, "provider": provider}),
        build.turn_start(name),
        {**build.turn_end(name, message=answer), "usage": counts},
        {**build.agent_end(name), "usage": counts},
    ]


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("anthropic", "claude-sonnet-4-6", "provider_stated"),
        ("unknown", "claude-sonnet-4-6", "provider_inferred"),
        ("", "claude-sonnet-4-6", "provider_inferred"),
        ("", "my-own-model", None),
    ],
)
def test_the_source_of_a_price_is_answered(project, get, provider, model, expected):
    play(project, *loop(provider=provider, model=model))

    assert [item["price_source"] for item in get("loops")["items"]] == [expected]
    assert [item["price_source"] for item in get("sessions")["items"]] == [expected]
    detail = get("sessions/s")
    assert (detail["price_source"], detail["loops"][0]["price_source"]) == (expected, expected)


def test_a_reported_cost_has_no_price_source(project, get):
    start, turn_start, turn_end, end = loop(provider="")
    play(project, start, turn_start, {**turn_end, "cost": 0.5}, end)
    assert get("sessions/s")["price_source"] is None


def test_one_inferred_provider_marks_the_session_and_no_other_loop(project, get):
    play(project, *loop("s.a.1"), *loop("s.a.2", provider=""), *loop("t.a.1"))

    assert [item["price_source"] for item in get("loops")["items"]] == [
        *("provider_stated", "provider_inferred", "provider_stated")
    ]
    sessions = {item["session_id"]: item["price_source"] for item in get("sessions")["items"]}
    assert sessions == {"s": "provider_inferred", "t": "provider_stated"}


def test_a_loop_that_was_billed_as_one_call_and_branches_have_a_price_source(project, get):
    config = {"model": "claude-sonnet-4-6", "provider": "unknown"}
    play(project, build.parallel_start("s.a.1", "s.a.2"), *loop("s.a.1"))
    play(
        project,
        build.agent_start("s.a.2", config_snapshot=config),
        build.agent_end("s.a.2", tokens=9),
        producer="q",
    )
    play(project, build.parallel_end("s.a.1"), producer="r")

    (group,) = get("groups")["items"]
    assert [each["price_source"] for each in group["branches"]] == ["provider_stated", "provider_inferred"]


def test_the_number_of_queries_for_price_sources_depends_on_nothing(project, get, django_assert_num_queries):
    play(project, *loop(provider=""))
    get("sessions")  # the first use of the token in a minute is noted
    with django_assert_num_queries(5):
        get("sessions")
    for number in range(20):
        play(project, *loop(f"t{number}.a.1", provider=""), producer=f"p{number}")
    with django_assert_num_queries(5):
        get("sessions")


@pytest.mark.parametrize(
    ("usage", "total"),
    [({}, None), ({"total_tokens": 0}, None), ({"total_tokens": 110}, 110), ({"input": 0, "output": 0}, 0)],
)
def test_a_total_that_was_not_sent_is_null(project, get, usage, total):
    play(project, *loop(**usage))
    for item in (get("sessions/s"), get("sessions/s")["loops"][0]):
        assert item["usage"]["total_tokens"] == total


def test_runtimes_that_send_no_total_have_none(project, get):
    play(project, *tape("cagent/all-event-types.hand-made.events.jsonl"), format="cagent", flush=True)
    sessions = get("sessions")["items"]
    assert any(item["usage"]["output"] for item in sessions)
    assert {item["usage"]["total_tokens"] for item in sessions} == {None}


def test_the_parent_of_a_sub_agents_loop_is_answered_across_sessions(project, get):
    play(project, build.agent_start("s.a.1"), build.turn_start("s.a.1"), build.tool_start("s.a.1"))
    play(project, *build.small_loop("t.a.1"), producer="child")
    play(project, build.agent_start("u.a.1", parent="s.a.1"), producer="other")
    play(project, build.tool_end("s.a.1", child="t.a.1"), build.turn_end("s.a.1"), producer="p2")

    found = {item["loop_id"]: (item["id"], item["parent_loop"]) for item in get("loops")["items"]}
    caller = LoopRecord.objects.get(loop_id="s.a.1").pk
    assert found["s.a.1"] == (caller, None)
    assert found["t.a.1"][1] == caller  # by the result of the tool call
    assert found["u.a.1"][1] == caller  # by the parent that the loop names; its tool call never ended
