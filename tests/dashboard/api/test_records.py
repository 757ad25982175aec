"""The read API on the twelve phi-core scenarios, recorded through the real ingest."""

import json
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.read import texts
from recorder.models import EventRecord, LoopRecord, Session
from tests.dashboard.api.conftest import TAPES
from tests.phi_core.compare_sessions import differences
from tests.support import build
from tests.support.small_loop import Loop

SCENARIOS = sorted(path.name.removesuffix(".events.jsonl") for path in TAPES.glob("*.events.jsonl"))
# Two rounds with the same loop ids: phi-core assigns the second group to the first round's records and none
# to the second round's. Loopscope records further runs: protocol 7, item 1.
TWICE = "04-parallel-twice-same-loop-ids"


def lines_of(response):
    return b"".join(response.streaming_content)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_export_equals_phi_cores_own_file(get, feed, scenario):
    feed(scenario=scenario, flush=True)
    theirs = json.loads((TAPES / f"{scenario}.sessions.json").read_text())
    found = [text for one in theirs for text in differences(one, get(f"sessions/{one['session_id']}/export"))]
    if scenario == TWICE:
        assert len(found) == 4
        assert all(".parallel_group: " in text for text in found)
    else:
        assert found == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_events_come_back_byte_for_byte_in_recorded_order(get, feed, scenario):
    feed(scenario=scenario)
    sent = (TAPES / f"{scenario}.events.jsonl").read_bytes()
    sessions = [item["session_id"] for item in get("sessions", sort="created")["items"]]
    back = {name: lines_of(get(f"sessions/{name}/events")).splitlines(keepends=True) for name in sessions}

    orphans = texts(EventRecord.objects.filter(session=None).values_list("pk", flat=True)).values()
    returned = [line for lines in back.values() for line in lines]
    assert sorted(returned + [raw + b"\n" for raw in orphans]) == sorted(sent.splitlines(keepends=True))
    for lines in back.values():
        order = iter(sent.splitlines(keepends=True))
        assert all(line in order for line in lines)


def test_an_envelope_has_the_lines_id_producer_and_loop(get, feed, project):
    feed(scenario="01-tools-two-prompts")
    session = Session.objects.get()
    raw = lines_of(get(f"sessions/{session.session_id}/events")).splitlines()
    wrapped = lines_of(get(f"sessions/{session.session_id}/events", envelope=1)).splitlines()

    for n, (line, envelope) in enumerate(zip(raw, wrapped, strict=True)):
        about = json.loads(envelope)
        assert list(about) == ["id", "producer", "seq", "received_at", "occurred_at", "loop", "type", "event"]
        assert about["event"] == json.loads(line)
        assert line in envelope
        assert (about["seq"], about["type"]) == (n, about["event"]["type"])
        assert about["loop"] in LoopRecord.objects.values_list("pk", flat=True)
        assert about["received_at"].endswith("Z")


def test_a_line_that_json_would_change_comes_back_as_it_was_sent(get, project, feed):
    odd = (
        json.dumps(Loop("s").start()).encode()[:-1]
        + b', "n": 1.10e+2,  "n": 0.1000000000000000055, "u": "\\u00e9\\ud800"}'
    )
    ingest(Batch(project=project.pk, producer=None, first=None, lines=[odd]))
    assert lines_of(get("sessions/s/events")) == odd + b"\n"
    assert odd in lines_of(get("sessions/s/events", envelope=1))


def test_an_envelope_counts_the_masks_of_its_line(get, project, feed):
    lines = [Loop("s").start(), {"type": "X", "loop_id": "s.a.1", "note": "AKIAIOSFODNN7EXAMPLE " * 2}]
    ingest(Batch(project.pk, "p", 0, [json.dumps(event).encode() for event in lines]))
    found = [json.loads(each) for each in lines_of(get("sessions/s/events", envelope=1)).splitlines()]
    assert [each.get("masked", 0) for each in found] == [0, 2]


def test_a_session_has_the_fields_of_its_list_and_its_loops_in_tree_order(get, feed):
    feed(scenario="02-continue-rerun-branch")
    (item,) = get("sessions")["items"]
    detail = get(f"sessions/{item['session_id']}")
    loops = detail.pop("loops")

    assert detail.pop("notes") == {"notes": 0, "scores": 0, "bookmarks": 0}
    assert detail == {name: value for name, value in item.items() if name != "loops"}
    assert len(loops) == item["loops"]
    placed = [loop["id"] for loop in loops]
    for loop in loops:
        assert loop["parent_loop"] is None or placed.index(loop["parent_loop"]) < placed.index(loop["id"])
        for child in loop["children"]:
            assert loop["id"] == next(other["parent_loop"] for other in loops if other["id"] == child)
    assert get(f"loops/{placed[0]}") == loops[0]
    assert {loop["id"]: loop for loop in get("loops")["items"]} == {loop["id"]: loop for loop in loops}
    assert item["url"] == f"/p/default/sessions/{Session.objects.get().pk}"
    assert loops[0]["url"] == f"{item['url']}/loops/{placed[0]}"


def test_usage_is_phi_cores_with_buckets_beside_it(get, feed):
    feed(scenario="01-tools-two-prompts")
    theirs = json.loads((TAPES / "01-tools-two-prompts.sessions.json").read_text())[0]
    loops = get(f"sessions/{theirs['session_id']}")["loops"]

    assert [loop["usage"] for loop in loops] == [loop["usage"] for loop in theirs["loops"]]
    assert loops[1]["buckets"] == {  # one turn of Anthropic's: its counts are disjoint already
        "uncached_input": 690,
        "cache_read": 1920,
        "cache_write": 210,
        "output": 41,
        "reasoning": 0,
    }
    cost = Decimal(690 * 3 + 41 * 15) + 1920 * Decimal("0.3") + 210 * Decimal("3.75")
    assert Decimal(loops[1]["cost_usd"]) == cost / 10**6
    assert (loops[1]["cost_source"], loops[1]["unpriced"]) == ("computed", False)


def test_the_usage_of_a_running_loop_is_that_of_its_finished_turns(get, feed):
    loop = Loop("s")
    feed(loop.start(), *loop.whole_turn("one"), *loop.whole_turn("two"), loop.turn())
    (item,) = get("loops")["items"]

    assert (item["status"], item["outcome"], item["ended_at"], item["duration_ms"]) == (
        "running",
        None,
        None,
        None,
    )
    assert (item["usage"]["input"], item["usage"]["total_tokens"], item["turns"]) == (20, 30, 2)


def test_a_group_with_a_judge_has_the_verdict_judged(get, feed):
    feed(scenario="03-parallel-judge")
    (group,) = get("groups")["items"]

    assert (group["verdict"], group["selected_config_index"], group["status"]) == ("judged", 0, "completed")
    assert [branch["config_index"] for branch in group["branches"]] == [0, 1, 2]
    assert [branch["is_selected"] for branch in group["branches"]] == [True, False, False]
    assert len({branch["config"]["label"] for branch in group["branches"]}) == 3
    assert group["judge"]["usage"] == group["evaluation_usage"]
    assert get(f"loops/{group['judge']['loop']}")["role"] == "judge"
    opus = 310 * 5 + 420 * 25
    haiku = 330 + 60 * 5 + 470 + 33 * 5
    gpt = (295 - 128) * Decimal("2.5") + 128 * Decimal("1.25") + 51 * 10
    judge = 640 * 3 + 5 * 15
    millionths = Decimal(opus + haiku + judge) + gpt
    assert [Decimal(each["cost_usd"]) * 10**6 for each in group["branches"]] == [opus, haiku, gpt]
    assert Decimal(group["judge"]["cost_usd"]) * 10**6 == judge
    assert (Decimal(group["total_cost_usd"]) * 10**6, group["unpriced"]) == (millionths, False)
    assert group["overhead_ratio"] == pytest.approx(float((millionths - opus) / opus))
    assert get(f"groups/{group['id']}") == group


@pytest.mark.parametrize(
    ("reply", "selected", "verdict"),
    [("Number 2 is better.", 1, "judged"), ("Both are good.", 0, "fallback"), ("2", 0, "fallback")],
)
def test_a_reply_that_does_not_name_the_winner_is_a_fallback(get, feed, reply, selected, verdict):
    branches = [*build.small_loop("s.a.1"), *build.small_loop("s.b.2")]
    judge = build.small_loop("judge", session="s", text=reply)
    end = build.parallel_end(f"s.{'ab'[selected]}.{selected + 1}", index=selected, tokens=5)
    feed(build.parallel_start(), *branches, *judge, end)

    (group,) = get("groups")["items"]
    assert (group["verdict"], group["selected_config_index"]) == (verdict, selected)


def test_the_same_loop_ids_twice_are_two_groups_decided_by_rule(get, feed):
    feed(scenario="04-parallel-twice-same-loop-ids")
    groups = get("groups")["items"]

    assert [group["verdict"] for group in groups] == ["rule", "rule"]
    assert [group["judge"] for group in groups] == [None, None]
    runs = [[get(f"loops/{branch['loop']}")["run"] for branch in group["branches"]] for group in groups]
    assert runs == [[1, 1], [2, 2]]


def test_a_group_that_has_not_ended_has_no_verdict(get, feed):
    first, second = Loop("s", "one.1"), Loop("s", "two.2")
    start = {"type": "ParallelLoopStart", "session_id": "s", "loop_ids": [first.id, second.id]}
    feed(start | {"timestamp": "2026-01-01T00:00:00Z"}, first.start())
    (group,) = get("groups")["items"]

    assert (group["verdict"], group["selected_config_index"], group["evaluation_usage"]) == (
        "none",
        None,
        None,
    )
    assert [get(f"loops/{branch['loop']}")["status"] for branch in group["branches"]] == [
        "running",
        "pending",
    ]


def test_sub_agents_are_linked_both_ways_and_one_is_not_recorded(get, feed):
    feed(scenario="05-sub-agents")
    refs = [ref for loop in get("loops")["items"] for ref in loop["child_loop_refs"]]
    linked = [ref for ref in refs if ref["loop"] is not None]

    assert linked
    assert [ref for ref in refs if ref["loop"] is None]
    for ref in linked:
        child = get(f"loops/{ref['loop']}")
        assert (child["loop_id"], child["role"]) == (ref["child_loop_id"], "sub_agent")
        assert get(f"sessions/{child['session_id']}")["parent"] is not None


@pytest.mark.parametrize("scenario", ["06-compaction-block-based", "07-compaction-in-memory"])
def test_a_compaction_has_the_reported_counts_and_those_of_the_next_request(get, feed, scenario):
    feed(scenario=scenario)
    compactions = get("compactions")["items"]
    events = [json.loads(line) for line in (TAPES / f"{scenario}.events.jsonl").read_bytes().splitlines()]
    ends = [event for event in events if event["type"] == "CompactionEnded"]

    assert [c["messages_before"] for c in compactions] == [e["messages_before"] for e in ends]
    assert [c["tokens_after"] for c in compactions] == [e["estimated_tokens_after"] for e in ends]
    for compaction, end in zip(compactions, ends, strict=True):
        later = events[events.index(end) :]
        sent = next(event for event in later if event["type"] == "TurnRequest")
        assert compaction["sent_messages"] == len(sent["payload"]["messages"])
        ended = next(event for event in later[later.index(sent) :] if event["type"] == "TurnEnd")
        assert compaction["sent_tokens"] == ended["usage"]["input"]
        assert compaction["content"] == "request"


def test_an_open_approval_is_listed_until_it_is_resolved(get, feed):
    loop = Loop("s")
    feed(loop.start(), loop.turn(), loop.tool("t1"), loop.approval("t1", "rm -r build"))
    (approval,) = get("approvals", open=1)["items"]
    assert (approval["command"], approval["session_id"], approval["resolved_at"]) == (
        "rm -r build",
        "s",
        None,
    )
    assert get("sessions")["items"][0]["waiting"] == 1
    assert get("loops")["items"][0]["waiting"] == get("loops")["items"][0]["approvals"] == 1

    resolved = {
        "type": "ApprovalResolved",
        "loop_id": loop.id,
        "approval_id": "approve-t1",
        "decision": "granted",
    }
    feed(resolved)
    assert get("approvals", open=1)["items"] == []
    assert get("approvals")["items"][0]["decision"] == "granted"


def test_a_rejected_line_is_listed_with_its_code(get, project):
    ingest(Batch(project=project.pk, producer="p", first=0, lines=[b'{"type": "AgentStart"\xff}']))
    (line,) = get("quarantine")["items"]
    assert (line["producer"], line["seq"], line["code"], line["size"]) == ("p", 0, "bad_utf8", 23)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"status": "running"}, {"b"}),
        ({"outcome": "completed"}, {"a"}),
        ({"outcome": ["completed", "failed"]}, {"a"}),
        ({"agent": "coder"}, {"a", "b"}),
        ({"agent": "unknown"}, set()),
        ({"model": "claude-sonnet-4-5"}, {"a", "b"}),
        ({"model": "gpt-5"}, set()),
        ({"source": "phi-core"}, {"a", "b"}),
        ({"source": "grida"}, set()),
        ({"q": "ask ONE"}, {"a"}),
        ({"q": "%"}, set()),
        ({"since": "2020-01-01T00:00:00+02:00"}, {"a", "b"}),
        ({"since": "2999-01-01T00:00:00Z"}, set()),
        ({"until": "2020-01-01T00:00:00Z"}, set()),
    ],
)
def test_sessions_are_filtered_by(get, feed, query, expected):
    one, two = Loop("a"), Loop("b")
    feed(*one.whole("one"), two.start(), *two.whole_turn("two"))
    found = get("sessions", **query)
    assert {item["session_id"] for item in found["items"]} == expected
    assert found["total"] == len(expected)


def test_a_config_key_finds_the_sessions_that_used_it(get, feed):
    feed(Loop("a").start())
    key = get("loops")["items"][0]["config"]["key"]
    assert get("sessions", config=key)["total"] == 1
    assert get("sessions", config="f" * 32)["total"] == 0


@pytest.mark.parametrize("path", ["sessions", "loops", "groups", "tool-calls", "compactions", "approvals"])
def test_a_page_takes_as_many_queries_for_many_records_as_for_few(get, feed, path, django_assert_num_queries):
    for scenario in ("03-parallel-judge", "05-sub-agents", "06-compaction-block-based"):
        feed(scenario=scenario)
    get(path)  # the first use of the token in a minute is noted
    with CaptureQueriesContext(connection) as few:
        get(path)
    for scenario in SCENARIOS:
        feed(scenario=scenario)
    for n in range(50):
        feed(Loop(f"s{n}").start())
    with django_assert_num_queries(len(few)):
        get(path)
