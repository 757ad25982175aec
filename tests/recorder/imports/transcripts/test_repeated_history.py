"""Transcripts of Claude Code that repeat the history of other sessions: older resumes, forks, side chains."""

import json
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import EventRecord, LoopRecord, Project, Session, ToolCall, TranscriptLine, Turn
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)
NUMBERS = count(1)
FIGURES = ("loops", "turns", "tool_calls", "input_tokens", "output_tokens", "cost_nano")


class Transcript:
    """The lines of one file, as Claude Code writes them."""

    def __init__(self, session, lines=()):
        self.session = session
        self.lines = [{**line, "sessionId": session} for line in lines]

    def line(self, at, kind, uuid, **fields):
        above = self.lines[-1]["uuid"] if self.lines else None
        head = {"parentUuid": above, "isSidechain": False, "userType": "external", "cwd": "/home/dev"}
        stamp = f"2026-11-22T15:{at // 60:02}:{at % 60:02}.000Z"
        head |= {"sessionId": self.session, "version": "1.0.38", "uuid": uuid, "timestamp": stamp}
        self.lines.append({**head, "type": kind, **fields})

    def answer(self, at, name, *blocks, output=20, stop="tool_use", request=None, **fields):
        usage = {"input_tokens": 100, "output_tokens": output}
        message = {"id": f"msg_{name}", "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage}
        message |= {"content": [*blocks], "stop_reason": stop}
        self.line(
            at, "assistant", f"{name}-{at}", message=message, requestId=request or f"req_{name}", **fields
        )

    def prompt(self, at, name):
        """Add a prompt, an answer on two lines with a tool call, its result, and a last answer."""
        say = {"role": "user", "content": f"Do {name}"}
        self.line(at, "user", f"{name}-{at}", message=say)
        self.answer(at + 1, f"{name}1", {"type": "text", "text": f"I do {name}"}, output=1, stop=None)
        call = {"type": "tool_use", "id": f"toolu_{name}", "name": "Bash", "input": {"command": "ls"}}
        self.answer(at + 2, f"{name}1", call)
        result = {"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": "ok"}
        self.line(at + 3, "user", f"{name}-{at + 3}", message={"role": "user", "content": [result]})
        self.answer(at + 4, f"{name}2", {"type": "text", "text": f"{name} is done"}, stop="end_turn")
        return self


def forked(session, of, *prompts):
    """Return the transcript of a fork whose copied lines name their origin."""
    found = resumed(session, of)
    for line in found.lines:
        line["forkedFrom"] = {"sessionId": of.session, "messageUuid": line["uuid"]}
    for number, name in enumerate(prompts):
        found.prompt(100 + 10 * number, name)
    return found


def resumed(session, of, *prompts, at=100):
    """Return the transcript of a session that repeats another one and goes on with prompts."""
    found = Transcript(session, of.lines)
    for number, name in enumerate(prompts):
        found.prompt(at + 10 * number, name)
    return found


def chain():
    """Return a session, the one that resumed it, and a third that resumed that one."""
    first = Transcript("old").prompt(0, "a").prompt(10, "b")
    second = resumed("new", first, "c", at=100)
    return first, second, resumed("newer", second, "d", at=200)


def record(*files, size=None, project=None):
    """Record files one after the other, in batches of `size` lines."""
    project = project or Project.objects.create(slug=f"p{next(NUMBERS)}")
    for file in files:
        send(project, file, file.lines, size)
    end(project, files)
    return project


def send(project, file, lines, size=None):
    for at in range(0, len(lines), size or len(lines)):
        part = [json.dumps(line).encode() for line in lines[at : at + (size or len(lines))]]
        ingest(Batch(project.pk, file.session, None, part, "claude-code"))


def end(project, files):
    for file in files:
        ingest(Batch(project.pk, file.session, None, [], "claude-code", flush=True))


def sessions(project):
    found = Session.objects.filter(project=project).order_by("created_at")
    return [(each.session_id, each.loops, each.turns, each.tool_calls, each.output_tokens) for each in found]


def titles(project):
    loops = LoopRecord.objects.filter(session__project=project).order_by("started_at")
    return [(loop.session.session_id, loop.title, loop.outcome, loop.turns) for loop in loops]


def test_a_resumed_session_records_only_what_is_new():
    first, second, third = chain()

    project = record(first, second, third)

    assert sessions(project) == [("old", 2, 4, 2, 80), ("new", 1, 2, 1, 40), ("newer", 1, 2, 1, 40)]
    assert titles(project)[1:3] == [("old", "Do b", "completed", 2), ("new", "Do c", "completed", 2)]


def test_a_sub_agent_goes_below_the_loop_of_its_call_when_the_first_line_came_in_a_fork():
    first, agent = Transcript("old"), Transcript("old")
    first.line(0, "user", "go", message={"role": "user", "content": "Go"})
    first.answer(1, "go1", {"type": "tool_use", "id": "c", "name": "Agent", "input": {"prompt": "Look"}})
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "Seen"}]}
    first.line(5, "user", "seen", message=result, toolUseResult={"agentId": "a"})
    first.answer(6, "go2", {"type": "text", "text": "Done"}, stop="end_turn")
    side = {"isSidechain": True, "agentId": "a"}
    agent.line(2, "user", "look", message={"role": "user", "content": "Look"}, **side)
    agent.answer(3, "look", {"type": "text", "text": "Seen"}, stop="end_turn", **side)
    agent.session = "agent"  # the name of its stream
    fork = resumed("new", first, "c")
    wanted = record(first, agent, fork)
    assert LoopRecord.objects.get(role="sub_agent").parent.title == "Go"

    project = Project.objects.create(slug="fork")
    parts = (fork, fork.lines[:1]), (first, first.lines), (agent, agent.lines), (fork, fork.lines[1:])
    for file, lines in parts:
        send(project, file, lines)
    end(project, (first, agent, fork))

    assert [*captures.differences(captures.shape(project), captures.shape(wanted))] == []


def test_before_any_stream_ends_nothing_is_counted_twice():
    project = Project.objects.create(slug="live")
    for file in reversed(chain()):
        send(project, file, file.lines, 3)

    assert Turn.objects.filter(loop__session__project=project).count() == 8
    assert ToolCall.objects.filter(loop__session__project=project).count() == 4


def test_a_line_of_history_stays_beside_the_loop_that_continues():
    first, second, _ = chain()

    project = record(first, second)

    loop = LoopRecord.objects.get(session__project=project, session__session_id="new")
    history = EventRecord.objects.filter(loop=loop, origin="kept")
    assert history.count() == len(first.lines)


def output_tokens(project):
    return sum(Turn.objects.filter(loop__session__project=project).values_list("output_tokens", flat=True))


ORDERS = [(0, 1, 2), (2, 1, 0), (2, 0, 1), (1, 2, 0), (1, 0, 2), (0, 2, 1)]


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_files_does_not_matter(order):
    files = chain()
    wanted = captures.shape(record(*files))

    project = record(*[files[at] for at in order])

    assert [*captures.differences(captures.shape(project), wanted)] == []
    rebuild(project)
    assert [*captures.differences(captures.shape(project), wanted)] == []


def family():
    """Return a session, one that resumed it, a fork of that, and a copy without anything new."""
    first, second, third = chain()
    fork = resumed("fork", Transcript("", second.lines[:10]), "e", at=300)
    return first, second, third, fork, Transcript("copy", second.lines)


@pytest.mark.slow
@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_interleaving_of_files_gives_the_same(data):
    files = family()
    wanted = captures.shape(record(*files))
    project = Project.objects.create(slug=f"p{next(NUMBERS)}")
    left = {file.session: [*file.lines] for file in files}
    while any(left.values()):
        file = data.draw(st.sampled_from([file for file in files if left[file.session]]))
        size = data.draw(st.integers(1, len(left[file.session])))
        send(project, file, left[file.session][:size])
        del left[file.session][:size]
        if not left[file.session] and data.draw(st.booleans()):
            end(project, [file])
    assert output_tokens(project) <= 200
    end(project, data.draw(st.permutations(files)))

    assert [*captures.differences(captures.shape(project), wanted)] == []
    rebuild(project)
    assert [*captures.differences(captures.shape(project), wanted)] == []


def test_the_same_lines_again_change_nothing():
    files = chain()
    project = record(*files)
    wanted = captures.shape(project)

    for file in files:
        ingest(
            Batch(project.pk, file.session, 0, [json.dumps(x).encode() for x in file.lines], "claude-code")
        )
    end(project, files)

    assert [*captures.differences(captures.shape(project), wanted)] == []


def test_a_session_that_goes_on_after_it_was_resumed_goes_on_in_its_own_records():
    first, second, _ = chain()
    project = record(second, first)
    grown = [*first.lines]
    first.prompt(400, "z")

    send(project, first, first.lines[len(grown) :])

    assert titles(project)[-1] == ("old", "Do z", "", 1)
    end(project, [first])
    assert titles(project)[-1] == ("old", "Do z", "completed", 2)


def test_a_copy_with_the_session_of_its_lines_is_the_same_session():
    first, second, _ = chain()
    for line in second.lines[: len(first.lines)]:
        line["sessionId"] = "old"

    for files in ((first, second), (second, first)):
        assert sessions(record(*files)) == [("old", 2, 4, 2, 80), ("new", 1, 2, 1, 40)]


def test_a_side_chain_that_repeats_its_parent_counts_it_once():
    main = Transcript("old").prompt(0, "a")
    side = Transcript("old")
    about = {"isSidechain": True, "agentId": "s1"}
    side.answer(5, "a1", {"type": "text", "text": "I do a"}, request="req_other", **about)
    side.answer(6, "s1", {"type": "text", "text": "Aside"}, stop="end_turn", **about)
    for files in ((main, side), (side, main)):
        project = Project.objects.create(slug=f"p{next(NUMBERS)}")
        for file in files:
            lines = [json.dumps(line).encode() for line in file.lines]
            ingest(Batch(project.pk, f"file {len(file.lines)}", 0, lines, "claude-code", flush=True))

        loops = LoopRecord.objects.filter(session__project=project).order_by("started_at")
        assert [(loop.agent_id, loop.turns) for loop in loops] == [("claude-code", 2), ("sub-agent", 1)]


def test_messages_without_a_request_id_are_recognised_by_their_lines():
    first = Transcript("old").prompt(0, "a")
    for line in first.lines:
        line.pop("requestId", None)
    other = Transcript("other").prompt(50, "a")  # a gateway that numbers its answers anew
    for line in other.lines:
        line.pop("requestId", None)

    project = record(first, other, resumed("new", first, "b"))

    assert [(name, turns) for name, _, turns, _, _ in sessions(project)] == [
        ("old", 2),
        ("other", 2),
        ("new", 2),
    ]


LONG = "msg_01XFDUDYJgAACzvnptvVoYE"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("request_id", [None, "req_other"])
def test_a_message_id_that_no_other_message_has_counts_once_under_any_request(order, request_id):
    first = Transcript("old").prompt(0, "a")
    for line in first.lines:
        if "message" in line and "id" in line["message"]:
            line["message"]["id"] = LONG + line["message"]["id"]
    again = [{**line, "message": {**line["message"]}} for line in first.lines]
    second = Transcript("new", again)
    for line in second.lines if request_id is None else ():
        line.pop("requestId", None)
    for line in second.lines:
        if "requestId" in line:
            line["requestId"] = request_id
    second.prompt(100, "b")

    project = record(*[(first, second)[at] for at in order])

    assert sessions(project) == [("old", 1, 2, 1, 40), ("new", 1, 2, 1, 40)]


def test_a_session_that_an_earlier_version_recorded_under_other_keys_stays_until_a_rebuild():
    first, second, _ = chain()
    project = record(second)
    TranscriptLine.objects.filter(project=project, session="new").update(request="earlier")
    before = captures.shape(project)

    record(first, project=project)

    assert [*captures.differences(captures.shape(project)[:1], before)] == []
    rebuild(project)
    assert [(name, turns) for name, _, turns, _, _ in sessions(project)] == [("old", 4), ("new", 2)]


def test_each_message_has_one_row_for_each_session():
    first, second, _ = chain()
    project = record(first, second)

    rows = TranscriptLine.objects.filter(project=project)
    assert (rows.filter(session="old").count(), rows.filter(session="new").count()) == (8, 12)
    assert rows.filter(session="new", loop="").count() == 8


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(("goes_on", "own"), [(False, "c"), (True, "c"), (True, None)])
def test_lines_that_name_their_origin_stay_there(order, goes_on, own):
    first = Transcript("old").prompt(0, "a").prompt(10, "b")
    fork = forked("fork", first, *filter(None, [own]))
    if goes_on:
        first.prompt(200, "z")

    found = sessions(record(*[(first, fork)[at] for at in order]))

    wanted = [("old", 3, 6, 3, 120) if goes_on else ("old", 2, 4, 2, 80)]
    assert found == [*wanted, *([("fork", 1, 2, 1, 40)] if own else [])]


def test_forks_whose_origin_never_comes_record_its_lines_once():
    first = Transcript("old").prompt(0, "a")
    one, two = forked("one", first, "b"), forked("two", first, "c", "d")

    for files in ((one, two), (two, one)):
        assert sessions(record(*files)) == [("one", 2, 4, 2, 80), ("two", 2, 4, 2, 80)]
