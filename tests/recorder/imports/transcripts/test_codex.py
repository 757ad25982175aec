"""Cases of Codex that no capture holds: results of older releases, failed tasks."""

import pytest

from recorder.ledger import follower
from recorder.models import LedgerBlock, Session
from tests.recorder.imports.transcripts.conftest import begin

pytestmark = pytest.mark.django_db(transaction=True)


def codex(*payloads, **meta):
    head = {"id": "thread", "session_id": "thread", "cwd": "/home/dev", "model_provider": "openai", **meta}
    lines = [("session_meta", head), ("event_msg", {"type": "task_started", "turn_id": "t1"}), *payloads]
    return [
        {"timestamp": f"2026-11-22T15:00:{at:02}.000Z", "type": kind, "payload": payload}
        for at, (kind, payload) in enumerate(lines)
    ]


def task(turn, parent=None):
    return (
        "event_msg",
        {"type": "task_started", "turn_id": turn, "turn_attribution": {"parent_turn_id": parent}},
    )


def sub_agent(thread, parent, *tasks, **meta):
    """Return the rollout of a sub-agent, with a finished task for each of the tasks that started one."""
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": parent, "agent_nickname": thread.title()}}}
    done = ("event_msg", {"type": "task_complete", "last_agent_message": "Done"})
    payloads = [each for at, by in enumerate(tasks) for each in (task(f"{thread}{at}", by), answered(), done)]
    lines = codex(*payloads, **{"id": thread, "source": spawn, "thread_source": "subagent", **meta})
    return [line for line in lines if line["payload"].get("turn_id") != "t1"]


def answered():
    return item("message", role="assistant", content=[{"type": "output_text", "text": "Done"}])


def item(kind, **payload):
    return ("response_item", {"type": kind, **payload})


def codex_call(output):
    return codex(
        item("function_call", name="shell", arguments="{}", call_id="c1"),
        item("function_call_output", call_id="c1", output=output),
        item("message", role="assistant", content=[{"type": "output_text", "text": "Done"}]),
        ("event_msg", {"type": "task_complete", "last_agent_message": "Done"}),
    )


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("Chunk ID: 1\nProcess exited with code 2\nOutput:\nno\n", True),
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nProcess exited with code 2\n", False),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\nno\n", True),
        ('{"output":"no","metadata":{"exit_code":1,"duration_seconds":0.1}}', True),
        ('{"output":"Exit code: 1","metadata":{"exit_code":0}}', False),
        ({"content": "no", "success": False}, True),
        ({"content": "yes", "success": True}, False),
        ("Plan updated, see exit 1", False),
    ],
)
def test_whether_a_command_of_codex_failed(record, output, failed):
    (loop,) = record("codex", codex_call(output))

    assert (loop.tool_calls, loop.errors, loop.outcome) == (1, int(failed), "completed")


def test_a_question_of_codex_waits_until_a_person_answers(project, record):
    ask = item("function_call", name="request_user_input", arguments="{}", call_id="c1")
    begin(project, "codex", codex(ask))
    assert Session.objects.get().waiting == 1

    (loop,) = record(
        "codex", codex(ask, item("function_call_output", call_id="c1", output="Blue"), answered())
    )
    assert (loop.waiting, loop.tool_calls, loop.errors) == (0, 1, 0)


def test_a_task_of_codex_that_failed_has_the_error(record):
    error = {"message": "unexpected status 500", "codex_error_info": "other"}
    done = {"type": "task_complete", "last_agent_message": None, "error": error}

    (loop,) = record("codex", codex(("event_msg", done)))

    assert (loop.outcome, loop.turns, loop.error) == ("failed", 1, "unexpected status 500")


FAILURE = ("event_msg", {"type": "error", "message": "usage limit"})


@pytest.mark.parametrize(
    ("payloads", "wanted"),
    [
        ([FAILURE], ("failed", 1, 1)),
        ([FAILURE, answered()], ("completed", 2, 1)),
    ],
)
def test_an_error_of_codex_fails_its_task_unless_an_answer_follows(record, payloads, wanted):
    (loop,) = record("codex", codex(*payloads, DONE))

    assert (loop.outcome, loop.turns, loop.errors) == wanted
    assert loop.error == "usage limit"


SPAWN = item("function_call", name="spawn_agent", arguments="{}", call_id="c1")
ITEM = {"type": "CollabAgentToolCall", "id": "c1", "tool": "spawn_agent", "receiver_thread_ids": ["fermat"]}
NAMED = ("event_msg", {"type": "item_completed", "item": ITEM})
STARTED = {"type": "sub_agent_activity", "event_id": "c1", "agent_thread_id": "fermat", "kind": "started"}
OUTPUT = item("function_call_output", call_id="c1", output='{"agent_id": "fermat"}')


@pytest.mark.parametrize(
    ("payloads", "calls"),
    [
        ([], []),
        ([SPAWN], []),
        ([SPAWN, OUTPUT], ["c1"]),
        ([SPAWN, NAMED], ["c1"]),
        ([SPAWN, NAMED, OUTPUT], ["c1"]),
        ([SPAWN, ("event_msg", STARTED)], ["c1"]),
    ],
)
@pytest.mark.parametrize("meta", [{}, {"session_id": None}])
def test_a_sub_agent_is_below_the_task_that_started_it(record, payloads, calls, meta):
    main, below = record("codex", codex(*payloads), sub_agent("fermat", "thread", "t1", **meta))

    assert (below.session, below.agent_id, below.loop_id) == (main.session, "Fermat", "thread.fermat")
    assert (main.parent, below.parent, below.role) == (None, main, "sub_agent")
    assert main.session.head == main
    assert [ref.tool_call_id for ref in below.spawned_by.all()] == calls
    assert main.session.sub_agents == len(calls)


def test_each_task_of_a_sub_agent_is_below_the_task_that_sent_it(record):
    parent = codex(task("t2"), ("event_msg", {"type": "task_complete", "last_agent_message": "Done"}))
    below = sub_agent("fermat", "thread", "t1", "t2")
    loops = {loop.loop_id: loop for loop in record("codex", parent, below)}

    found = {name: loop.parent and loop.parent.loop_id for name, loop in loops.items()}
    assert found == {
        "thread.t1": None,
        "thread.t2": None,
        "thread.fermat": "thread.t1",
        "thread.fermat1": "thread.t2",
    }


def test_the_sub_agent_of_a_sub_agent_is_below_it(record):
    one, two = sub_agent("fermat", "thread", "t1"), sub_agent("pascal", "fermat", "fermat0")

    loops = {loop.loop_id: loop for loop in record("codex", codex(), one, two)}

    assert loops["thread.pascal"].parent == loops["thread.fermat"]


def test_branch_and_repository_are_metadata_without_a_password(record):
    git = {
        "commit_hash": "0a1b",
        "branch": "main",
        "repository_url": "https://dev:secret@example.org/app.git",
    }
    (loop,) = record("codex", codex(answered(), git=git))

    assert loop.session.metadata["branch"] == ["main"]
    assert loop.session.metadata["repository"] == ["https://example.org/app.git"]


@pytest.mark.parametrize("kind", ["compaction", "compaction_summary", "context_compaction"])
def test_a_summary_that_the_provider_encrypted_says_so(record, kind):
    kept = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]}
    history = [kept, {"type": kind, "encrypted_content": "x" * 4_000}, "junk"]
    compacted = ("compacted", {"message": "", "replacement_history": history})
    (loop,) = record("codex", codex(answered(), compacted, answered()))
    follower.run_all()

    (compaction,) = loop.compaction_records.all()
    assert compaction.summary == "[summary encrypted by the provider, 4,000 characters]"
    (block,) = LedgerBlock.objects.filter(session=loop.session_id, kind="compaction_summary")
    assert block.name == "not recorded"


@pytest.mark.parametrize(
    ("payload", "summary"),
    [({"message": "Added a test."}, "Added a test."), ({"replacement_history": 7}, "")],
)
def test_a_summary_in_words_stays_and_none_is_made_up(record, payload, summary):
    (loop,) = record("codex", codex(answered(), ("compacted", payload), answered()))

    assert [compaction.summary for compaction in loop.compaction_records.all()] == [summary]


def tokens(number):
    return {"input_tokens": 100 * number, "output_tokens": 10 * number, "total_tokens": 110 * number}


def counted(total, last=1):
    """Return a report of older releases: the sum of all calls and the usage of the last one."""
    info = {"total_token_usage": tokens(total), "last_token_usage": tokens(last)}
    return ("event_msg", {"type": "token_count", "info": info})


def usage_record(total, usage=1):
    return ("token_usage_record", {"usage": tokens(usage), "thread_token_usage": tokens(total)})


COMPACTED = ("compacted", {"message": "Added a test."})
DONE = ("event_msg", {"type": "task_complete"})


@pytest.mark.parametrize(
    "reports",
    [
        (counted(1), counted(1), counted(3, 2), counted(3, 2), counted(4)),
        (usage_record(1), usage_record(1), usage_record(3, 2), usage_record(3, 2), usage_record(4)),
        (counted(1), usage_record(1), usage_record(3, 2), counted(3, 2), usage_record(4)),
    ],
)
def test_the_call_that_wrote_the_summary_of_a_compaction_is_a_turn(record, reports):
    """Its answer is not in the rollout, and only one of the reports about it counts."""
    (loop,) = record("codex", codex(answered(), *reports[:-1], COMPACTED, answered(), reports[-1], DONE))

    assert [turn.output_tokens for turn in loop.turn_records.order_by("ordinal")] == [10, 20, 10]
    assert (loop.input_tokens, loop.status, loop.compaction_records.count()) == (400, "completed", 1)


@pytest.mark.parametrize("report", [counted(2), usage_record(2)])
def test_a_task_that_only_compacts_has_the_usage_of_its_call(record, report):
    first = (counted(1) if report[0] == "event_msg" else usage_record(1), DONE)
    _, loop = record("codex", codex(answered(), *first, task("t2"), report, COMPACTED, DONE))

    assert (loop.turns, loop.output_tokens, loop.status) == (1, 10, "completed")


def test_a_report_that_comes_again_behind_the_next_answer_changes_nothing(record):
    reports = usage_record(2, 2), answered(), usage_record(2, 2), usage_record(3), DONE
    (loop,) = record("codex", codex(answered(), *reports))

    assert [turn.output_tokens for turn in loop.turn_records.order_by("ordinal")] == [20, 10]


def test_a_sum_that_a_rollout_begins_with_is_no_call_of_its_own(record):
    """A fork that refers to its origin goes on from the sum of the origin."""
    (loop,) = record("codex", codex(counted(7), answered(), counted(8), DONE))

    assert (loop.turns, loop.output_tokens) == (1, 10)
