"""The block ledger by API: a fixture computed by hand, as of an event, and what does not exist."""

from decimal import Decimal

import pytest

from recorder.ledger import follower
from recorder.models import Project, Session, Turn
from tests.recorder.ledger import carried_file
from tests.support import build

pytestmark = pytest.mark.django_db
ENDS = ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59+14:00")


def test_a_file_that_is_carried_and_compacted_costs_what_was_computed_by_hand(get, feed):
    feed(*carried_file.events())
    follower.run_all()

    found = get("context", session_id="s")

    (file,) = [block for block in found["blocks"] if block["kind"] == "tool_result"]
    assert found["blocks"][0] == file
    assert (file["name"], file["detail"], file["bytes"]) == ("read_file", "poetry.lock", 41_000)
    assert (file["tokens"], file["tokens_source"]) == (carried_file.FILE_TOKENS, "exact")
    turns = [file[name] for name in ("first_turn", "last_turn", "turns")]
    assert (turns, file["left_by"]) == ([3, 22, 20], "compaction")
    assert Decimal(file["carried_usd"]) == Decimal(carried_file.FILE_NANO).scaleb(-9)
    here = [_cost_here(get, turn, file) for turn in found["turns"]]
    written, read = Decimal("0.039375"), Decimal("0.00315")
    assert here == [None, None, written, *[read] * 8, written, *[read] * 10, None]


def _cost_here(get, turn, block):
    sent = get(f"context/turns/{turn['id']}")["blocks"]
    found = [each for each in sent if each["id"] == block["id"]]
    return Decimal(found[0]["cost_here_usd"]) if found else None


def test_the_figures_add_up_in_every_turn_and_in_the_session(get, feed):
    feed(*carried_file.events())
    follower.run_all()

    found = get("context", session_id="s")

    for turn in found["turns"]:
        sent = get(f"context/turns/{turn['id']}")
        assert sum(Decimal(each["cost_here_usd"]) for each in sent["blocks"]) == Decimal(turn["context_usd"])
        assert Decimal(turn["context_usd"]) + Decimal(turn["output_usd"]) == Decimal(turn["cost_usd"])
        assert sum(each["tokens"] for each in sent["blocks"]) == turn["prompt_tokens"]
    assert sum(Decimal(each["carried_usd"]) for each in found["blocks"]) == Decimal(found["context_usd"])
    assert Decimal(found["cost_usd"]) == Decimal(get("sessions/s")["cost_usd"])


def test_figures_of_calls_without_a_price_are_null(get, feed):
    answer = build.assistant(tokens=5, model="unheard-of", provider="nobody")
    turn_end = build.turn_end("t.a.1", tokens=5, message=answer)
    feed(build.agent_start("t.a.1"), build.turn_start("t.a.1"), build.message_end("t.a.1"), turn_end)
    follower.run_all()

    found = get("context", session_id="t")
    (turn,) = found["turns"]
    sent = get(f"context/turns/{turn['id']}")

    names = ("context_usd", "output_usd", "undivided_usd", "cost_usd")
    assert {owner[name] for owner in (found, turn, sent) for name in names} == {None}
    assert found["lost_usd"] is None
    assert {block["carried_usd"] for block in found["blocks"]} == {None}
    assert {block["cost_here_usd"] for block in sent["blocks"]} == {None}
    assert get("sessions/t")["cost_usd"] is None


def test_the_miss_has_its_tokens_and_dollars(get, feed):
    feed(*carried_file.events())
    follower.run_all()

    turns = get("context", session_id="s")["turns"]

    missed = turns[carried_file.MISSED_AT - 1]["cache"]
    assert (missed["verdict"], missed["lost_tokens"]) == ("ttl_lapsed", carried_file.LOST_TOKENS)
    assert Decimal(missed["lost_usd"]) == Decimal(carried_file.LOST_NANO).scaleb(-9)
    assert turns[0]["cache"]["verdict"] == "first_call"
    assert turns[-1]["cache"]["verdict"] == "history_edited"
    last = get(f"context/turns/{turns[-1]['id']}")["cache"]["first_difference"]
    assert (last["block"], last["kind"]) == (2, "user")
    assert last["before"].startswith("Read the file.")
    assert {turn["cache"]["verdict"] for turn in turns[1:11]} == {"append_only"}


def test_as_of_an_event_it_has_the_calls_that_had_ended(get, feed):
    feed(*carried_file.events())
    follower.run_all()
    tenth = Turn.objects.get(ordinal=9)

    found = get("context", session_id="s", at=tenth.end_event)

    assert len(found["turns"]) == 10
    (file,) = [block for block in found["blocks"] if block["kind"] == "tool_result"]
    assert (file["last_turn"], file["left_by"]) == (10, None)


def test_a_turn_without_a_request_is_derived_and_what_does_not_exist_is_404(get, feed):
    feed(*build.small_loop("t.a.1"))
    follower.run_all()

    (turn,) = get("context", session_id="t")["turns"]

    assert turn["request"] == "derived"
    get("context", expect=404, session_id="unknown")
    get("context/turns/999999", expect=404)
    get("context", expect=400)
    other = Project.objects.create(slug="other")
    Session.objects.update(project=other)
    get("context", expect=404, session_id="t")
    get(f"context/turns/{turn['id']}", expect=404)


def test_the_reason_of_the_provider_is_beside_the_verdict(get, feed):
    reasons = {2: "system_changed", carried_file.CALLS: {"type": "messages_changed"}}
    events = carried_file.events()
    ends = [event for event in events if event["type"] == "TurnEnd"]
    for number, reason in reasons.items():
        ends[number - 1]["message"]["diagnostics"] = {"cache_miss_reason": reason}
    feed(*events)
    follower.run_all()

    found = get("context", session_id="s")

    caches = [turn["cache"] for turn in found["turns"]]
    assert [
        (each["provider_reason"], each["provider_agrees"]) for each in caches if each["provider_reason"]
    ] == [
        ("system_changed", False),
        ("messages_changed", True),
    ]
    assert {each["provider_agrees"] for each in caches if not each["provider_reason"]} == {None}
    assert found["skipped_turns"] == 0


@pytest.mark.parametrize("sums", ["causes", "tools", "versions", "requests", "floors"])
@pytest.mark.parametrize("until", ["0001-01-01", "0001-06-01"])
def test_a_period_at_the_start_of_the_calendar_is_one_without_calls(get, sums, until):
    found = get(f"context/{sums}", until=until)

    assert (found["since"], found["until"]) == (max("0001-01-01", found["since"]), until)


def test_both_ends_of_the_calendar_are_periods_of_what_if(get, feed):
    feed(*carried_file.events())
    follower.run_all()

    calls = [get("context/what-if", until=until)["calls"] for until in ENDS]

    assert calls == [0, get("context/what-if")["calls"]]
    assert calls[1]
