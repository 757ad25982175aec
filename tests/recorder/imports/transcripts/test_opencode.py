"""The store of OpenCode: its lines only grow, and sub-agents belong to the session of their caller."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.imports.detect import recordings
from recorder.imports.import_files import import_files
from recorder.imports.report import Report
from recorder.models import Compaction, LoopRecord, Project, Session, Turn
from tests.recorder.imports.transcripts.opencode_store import TOKENS, Store


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "opencode.db")
    yield made
    made.db.close()


def imported(store, *, flush=True):
    project, _ = Project.objects.get_or_create(slug="p")
    report = Report()
    found = recordings([store.path], "auto", report)
    import_files(project, found, report, lambda size, label: None, flush=flush)
    return report


def done(**fields):
    return {"status": "completed", "input": {}, "output": "ok", "metadata": {}, **fields}


def test_what_opencode_changes_later_changes_no_line(store):
    session = store.session("ses_1")
    prompt = store.prompt(session, "Write a file")
    tool = ("call_1", "bash", done(time={"start": 1, "end": 2}))
    answer = store.finish(store.answer(session, "I write it.", tools=[tool]))
    store.finish(store.answer(session, "Done."))
    before = store.lines()

    store.change("message", prompt, summary={"title": "A file", "diffs": [{"file": "a"}]})
    (part,) = store.db.execute(
        "SELECT id FROM part WHERE message_id = ? AND data LIKE '%call_1%'", (answer,)
    ).fetchone()
    store.change("part", part, state=done(time={"start": 1, "end": 2, "compacted": 9}))
    store.db.execute("UPDATE session SET agent = 'plan'")

    assert store.lines() == before
    assert len(before["ses_1"]) == 4


def test_a_message_waits_until_it_is_whole(store):
    session = store.session("ses_1")
    prompt = store.message(session, role="user")
    assert len(store.lines()[session]) == 1  # its text is stored after it

    store.part(prompt, type="text", text="Write a file")
    answer = store.answer(session, "I wri")
    assert [json.loads(line)["type"] for line in store.lines()[session]] == [
        "opencode.session",
        "opencode.message",
    ]
    store.prompt(session, "And another one")  # waits in the queue of OpenCode
    assert len(store.lines()[session]) == 2

    store.finish(answer)
    assert len(store.lines()[session]) == 3


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(("prompt", "answer", "text", "finish", "summary", "error")), max_size=14))
def test_the_lines_of_a_session_only_grow(tmp_path_factory, steps):
    store = Store(tmp_path_factory.mktemp("store") / "opencode.db")
    session, answer, prompt = store.session("ses_1"), None, None
    seen = store.lines()[session]
    for step in steps:
        if step == "prompt":
            prompt = store.prompt(session, "More")
        elif step == "answer":  # a run that was killed leaves an answer without an end
            answer = store.answer(session)
        elif step == "text" and answer:
            store.part(answer, type="text", text="Text")
        elif step == "finish" and answer:
            answer = store.finish(answer) and None
        elif step == "error" and answer:
            answer = store.finish(answer, error={"name": "APIError", "data": {"message": "no"}}) and None
        elif step == "summary" and prompt:
            store.change("message", prompt, summary={"diffs": [store.now]})
        lines = store.lines()[session]
        assert lines[: len(seen)] == seen
        seen = lines
    store.db.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_child_first", [False, True])
def test_a_sub_agent_is_a_loop_of_its_callers_session(store, is_child_first):
    if is_child_first:
        child = store.session("ses_child", parent="ses_1", agent="explore")
        store.now += 10
    session = store.session("ses_1")
    if not is_child_first:
        child = store.session("ses_child", parent="ses_1", agent="explore")
    store.prompt(session, "Count the files")
    task = ("call_1", "task", done(metadata={"sessionId": child}))
    store.finish(store.answer(session, "I ask.", tools=[task]))
    store.prompt(child, "Count")
    store.finish(store.answer(child, "Three"))
    store.finish(store.answer(session, "There are three."))

    assert imported(store).problems == []

    main, below = LoopRecord.objects.order_by("started_at")
    assert (main.agent_id, main.outcome, main.turns) == ("opencode", "completed", 2)
    assert (below.agent_id, below.outcome, below.turns) == ("explore", "completed", 1)
    ref = below.spawned_by.get()
    assert (ref.loop, ref.tool_name) == (main, "task")
    found = Session.objects.get()
    assert (found.session_id, found.agent_id, found.title) == ("ses_1", "opencode", "Count the files")
    assert found.activity == "There are three."


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("error", "calls", "denied"),
    [
        ("The user rejected permission to use this specific tool call.", 1, 1),
        ("Tool execution aborted", 2, 0),
    ],
)
def test_a_call_that_was_denied_or_cancelled_is_no_error(store, error, calls, denied):
    session = store.session("ses_1")
    store.prompt(session, "Write a file")
    refused = {"status": "error", "input": {}, "error": error}
    store.finish(store.answer(session, tools=[("c1", "bash", done()), ("c2", "edit", refused)]))

    assert imported(store).problems == []

    loop = LoopRecord.objects.get()
    assert (loop.tool_calls, loop.errors, loop.approvals.filter(decision="denied").count()) == (
        *(calls, 0, denied),
    )


@pytest.mark.django_db(transaction=True)
def test_a_store_is_followed_with_its_write_ahead_log(store):
    session = store.session("ses_1")
    store.prompt(session, "One")
    answer = store.answer(session, "Answer one")
    assert imported(store, flush=False).events == 3
    assert LoopRecord.objects.get().turns == 0

    store.finish(answer)
    prompt = store.prompt(session, "Two")
    store.change("message", prompt, summary={"diffs": []})
    store.finish(store.answer(session, "Answer two"))
    report = imported(store, flush=False)

    assert (report.problems, report.rejected, report.events) == ([], 0, 3)
    assert list(LoopRecord.objects.order_by("id").values_list("status", "turns")) == [("completed", 1)] * 2
    assert imported(store).events == 0
    assert Turn.objects.filter(state="done", output_tokens=15, reasoning_tokens=5).count() == 2


@pytest.mark.django_db(transaction=True)
def test_what_takes_the_place_of_undone_messages_is_recorded_after_them(store):
    session = store.session("ses_1")
    store.prompt(session, "One")
    store.finish(store.answer(session, "Answer one"))
    undone = [store.prompt(session, "Two"), store.finish(store.answer(session, "Answer two"))]
    imported(store)

    for name in undone:
        store.db.execute("DELETE FROM message WHERE id = ?", (name,))
    imported(store)
    store.prompt(session, "Another two")
    store.finish(store.answer(session, "Another answer"))
    reports = [imported(store), imported(store)]
    store.prompt(session, "Three")
    store.finish(store.answer(session, "Answer three"))
    reports.append(imported(store))

    assert [(each.problems, each.rejected, each.events, each.duplicates) for each in reports] == [
        ([], 0, 2, 3),
        ([], 0, 0, 5),
        ([], 0, 2, 5),
    ]
    loops = LoopRecord.objects.order_by("id").values_list("title", "outcome", "turns")
    assert [*loops] == [(title, "completed", 1) for title in ("One", "Two", "Another two", "Three")]


@pytest.mark.django_db(transaction=True)
def test_a_loop_ends_as_its_answer_was_killed_stopped_failed_or_cut_at_its_limit(store):
    killed, stopped, failed, limited = map(store.session, ("ses_1", "ses_2", "ses_3", "ses_4"))
    store.prompt(killed, "One")
    store.answer(killed, "I wri")
    names = ("MessageAbortedError", "APIError", "MessageOutputLengthError")
    for session, name in zip((stopped, failed, limited), names, strict=True):
        store.prompt(session, "Two")
        store.finish(store.answer(session, "I", error={"name": name, "data": {"message": "It broke"}}))

    imported(store)

    found = LoopRecord.objects.order_by("session__session_id").values_list("outcome", "errors", "error")
    assert [*found] == [
        ("aborted", 0, ""),
        ("cancelled", 0, ""),
        ("failed", 1, "It broke"),
        ("limit", 0, ""),
    ]


@pytest.mark.django_db(transaction=True)
def test_a_prompt_without_words_names_what_is_attached(store):
    session = store.session("ses_1")
    for mime in ("image/png", "application/pdf"):
        name = store.message(session, role="user")
        store.part(name, type="file", mime=mime, url="data:")
        store.finish(store.answer(session, "I see"))

    imported(store)

    assert [*LoopRecord.objects.order_by("id").values_list("title", "turns")] == [
        ("[image]", 1),
        ("[file]", 1),
    ]


@pytest.mark.django_db(transaction=True)
def test_a_compaction_is_recorded_and_begins_no_loop(store):
    session = store.session("ses_1")
    store.prompt(session, "One")
    store.finish(store.answer(session, "Answer", tools=[("c", "bash", done())]))
    store.part(store.message(session, role="user"), type="compaction", auto=True)
    store.finish(store.answer(session, "What was done so far", summary=True, mode="compaction"))
    store.prompt(session, "Continue if you have next steps", synthetic=True)
    store.finish(store.answer(session, "Done"))

    imported(store)

    loop = LoopRecord.objects.get()
    assert (loop.turns, loop.outcome, loop.title) == (3, "completed", "One")
    assert Compaction.objects.get().summary == "What was done so far"


@pytest.mark.django_db(transaction=True)
def test_a_loop_ends_with_the_answer_that_asks_for_no_tool(store):
    session = store.session("ses_1")
    store.prompt(session, "One")
    store.finish(store.answer(session, "Look", tools=[("c", "bash", done())]))
    imported(store, flush=False)
    assert LoopRecord.objects.get().status == "running"

    store.finish(store.answer(session, "Answer"))
    imported(store, flush=False)
    loop = LoopRecord.objects.get()
    assert (loop.status, loop.outcome, loop.turns) == ("completed", "completed", 2)


@pytest.mark.django_db(transaction=True)
def test_damaged_rows_lose_nothing_else(store):
    session = store.session("ses_1")
    store.prompt(session, "One")
    broken = store.finish(store.answer(session, "Text", finish="tool-calls"))
    store.db.execute("UPDATE part SET data = ? WHERE message_id = ?", ("{not json", broken))
    store.db.execute("INSERT INTO part VALUES ('prt_z', ?, '', 1, ?)", (broken, b"\xff\xfe"))
    store.finish(store.answer(session, "Two"))

    report = imported(store)

    assert (report.problems, report.rejected) == ([], 0)
    assert LoopRecord.objects.get().turns == 2


@pytest.mark.django_db(transaction=True)
def test_an_answer_is_shown_while_it_is_written_and_a_question_waits(store):
    session = store.session("ses_1")
    store.prompt(session, "One")
    asked = {"status": "running", "input": {"questions": []}, "time": {"start": store.now}}
    answer = store.answer(session, "I ask", tools=[("c1", "question", asked)])
    imported(store, flush=False)
    loop = LoopRecord.objects.get()
    assert (loop.status, loop.turns, loop.tool_calls, loop.waiting) == ("running", 0, 1, 1)

    (part,) = store.db.execute("SELECT id FROM part WHERE data LIKE '%question%'").fetchone()
    store.change("part", part, state=done(time={"start": store.now - 4, "end": store.now}))
    store.finish(answer)
    store.finish(store.answer(session, "Done"))
    imported(store)

    loop.refresh_from_db()
    assert (loop.outcome, loop.turns, loop.tool_calls, loop.waiting) == ("completed", 2, 1, 0)
    assert loop.output_tokens == 30
    assert [each.decision for each in loop.approvals.all()] == ["granted"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_the_tokens_of_an_answer_are_those_of_all_its_steps(store, steps):
    store.prompt(store.session("ses_1"), "Go")
    answer = store.answer("ses_1", "Done", cost=0.003)
    for _ in range(steps):
        store.part(answer, type="step-finish", reason="stop", tokens=TOKENS, cost=0.001)
    store.finish(answer)

    imported(store)

    turn = Turn.objects.get()
    assert (turn.output_tokens, turn.cache_read_tokens) == (15 * max(steps, 1), 7 * max(steps, 1))
    assert turn.cost_nano == 3_000_000


def forked(session, *own):
    """Return the lines of a fork: a copy of one prompt and its answer, then one of its own."""
    lines = [{"type": "opencode.session", "id": session, "root_id": session, "time_created": own[0]}]
    for at in (1_795_361_251_000, *own):
        tokens = {"input": 100, "output": 10, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        answer = {"role": "assistant", "finish": "stop", "cost": 0.5, "tokens": tokens}
        answer["time"] = {"created": at + 1, "completed": at + 2}
        for kind, message in (("ask", {"role": "user", "time": {"created": at}}), ("say", answer)):
            parts = [{"type": "text", "text": f"{kind} {at}"}]
            about = {"type": "opencode.message", "id": f"{session}-{kind}-{at}", "session_id": session}
            lines.append({**about, "message": message, "parts": parts})
    return lines


@pytest.mark.django_db(transaction=True)
def test_forks_of_opencode_record_their_history_once_whichever_arrives_first(record):
    loops = record("opencode", forked("ses_1", 1_795_361_300_000), forked("ses_2", 1_795_361_400_000))

    assert [(loop.session.session_id, loop.turns) for loop in loops] == [
        ("ses_1", 1),
        ("ses_1", 1),
        ("ses_2", 1),
    ]
