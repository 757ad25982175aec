"""Events of the client's blocks give the expected records in the recorder."""

import asyncio
import json

import pytest

from loopscope_client.factory import ScopeFactory
from loopscope_client.never_raise import DONE
from loopscope_client.transport.encoding import line_of
from recorder.core.formats.native import parse
from recorder.core.recorder import JournalLine, Recorder
from recorder.core.records import Anomaly, ChildRef, Compaction, Group, Loop, Session, ToolCall, Turn
from recorder.core.state import State
from tests.support.build import NINE
from tests.support.memory_store import Records


class Notebook(ScopeFactory):
    """A client that feeds its lines to a recorder."""

    def __init__(self):
        self.lines, self.records = [], Records()
        self._recorder = Recorder(State())

    def send(self, event):
        line = line_of(event)
        self.lines.append(line)
        self.records.keep(self._recorder.feed(JournalLine(len(self.lines), 1, NINE, "native", parse(line))))
        return DONE

    def events(self, *types):
        found = [json.loads(line) for line in self.lines]
        return [event for event in found if not types or event["type"] in types]


@pytest.fixture
def client():
    client = Notebook()
    yield client
    assert client.records.of(Anomaly) == []


def test_a_loop_has_its_turns_its_usage_and_its_tools(client):
    with client.loop(agent="cook", model="m-1", provider="p", session="kitchen", temperature=0.2) as loop:
        loop.user("Make soup")
        with loop.turn() as turn:
            turn.request([{"role": "user", "content": "Make soup"}], system="You cook.")
            for word in ("I ", "need ", "water"):
                turn.text(word)
            turn.answer(usage={"input_tokens": 10, "output_tokens": 3})
            with loop.tool("tap", {"litres": 2}) as tool:
                tool.progress("filling")
                tool.update("1 litre")
                tool.result("2 litres")
        with loop.turn() as turn:
            turn.answer("Soup.", input=20, output=1, cache_read=5)

    records = client.records
    made = records.one(Loop)
    assert (made.agent_id, made.status, made.outcome, made.turns) == ("cook", "completed", "completed", 2)
    assert (made.input_tokens, made.output_tokens, made.cache_read_tokens, made.title) == (
        30,
        4,
        5,
        "Make soup",
    )
    assert (made.config.model, made.config.snapshot["temperature"]) == ("m-1", 0.2)
    assert [(turn.triggered_by, turn.state, turn.output_tokens) for turn in records.of(Turn)] == [
        ("User", "done", 3),
        ("Continuation", "done", 1),
    ]
    tap = records.one(ToolCall)
    assert (tap.tool_name, tap.state, tap.turn, tap.progress) == (
        "tap",
        "done",
        records.of(Turn)[0],
        "filling",
    )
    first = client.events("MessageEnd")[1]["message"]["content"]
    assert first == [{"type": "text", "text": "I need water"}]


def test_a_session_has_the_tags_and_the_metadata_of_its_loops(client):
    with client.loop(session="kitchen", metadata={"ticket": "A-1"}, tags=["nightly", "eu"]):
        pass
    with client.loop(session="kitchen", metadata={"ticket": "A-2"}):
        pass

    (session,) = client.records.of(Session)
    assert session.tags == ["nightly", "eu"]
    assert session.metadata == {"ticket": ["A-1", "A-2"]}
    assert len(client.events("SessionInfo")) == 1


def test_a_block_that_fails_ends_everything_in_it_as_failed(client):
    def work():
        with client.loop() as loop, loop.turn() as turn, loop.tool("divide", {"by": 0}):
            turn.text("never ended")
            raise ZeroDivisionError("by zero")

    with pytest.raises(ZeroDivisionError):
        work()

    made = client.records.one(Loop)
    assert (made.outcome, made.error) == ("failed", "ZeroDivisionError: by zero")
    assert client.records.one(ToolCall).state == "failed"
    assert client.records.one(Turn).state == "done"


def test_an_interrupted_loop_was_cancelled(client):
    with pytest.raises(KeyboardInterrupt), client.loop(), client.loop(session="other"):
        raise KeyboardInterrupt

    assert [loop.outcome for loop in client.records.of(Loop)] == ["cancelled", "cancelled"]


def test_a_model_that_fails_is_the_turns_error(client):
    with pytest.raises(TimeoutError), client.loop() as loop, loop.turn():
        raise TimeoutError("no answer")

    assert client.records.one(Turn).error == "TimeoutError: no answer"
    assert client.records.one(Loop).errors == 1


def test_a_sub_agent_is_linked_both_ways(client):
    with client.loop(agent="chef", model="m") as chef, chef.turn() as turn:
        turn.answer("I ask the baker.", input=1, output=1)
        with chef.sub_agent("baker", "bread") as baker, baker.turn() as inner:
            inner.answer("Bread.", input=2, output=2)

    records = client.records
    above, below = records.of(Loop)
    ref = records.one(ChildRef)
    assert (ref.loop, ref.child, ref.tool_call_id) == (above, below, records.one(ToolCall).tool_call_id)
    assert below.role == "sub_agent"
    assert below.session is not above.session
    assert below.session.parent is above
    assert above.session.sub_agents == 1
    assert client.events("ToolExecutionEnd")[0]["result"]["content"][0]["text"] == "Bread."


def test_a_group_has_its_branches_its_judge_and_its_winner(client):
    configs = [{"model": "small", "provider": "p"}, {"model": "large", "provider": "p"}]
    with client.parallel(configs, agent="writer", session="essay") as group:
        for branch in group:
            with branch as loop:
                loop.user("Write")
                with loop.turn() as turn:
                    turn.answer(f"By {loop.config['model']}", input=1, output=1)
        with group.judge("wise") as judge, judge.turn() as turn:
            turn.answer("2", input=7, output=1)
        group.select(1)

    records = client.records
    made = records.one(Group)
    assert (made.status, made.selected_config_index, made.input_tokens) == ("completed", 1, 7)
    assert [(loop.role, loop.is_selected) for loop in records.of(Loop)] == [
        ("branch", False),
        ("branch", True),
        ("judge", None),
    ]
    assert made.judge is records.of(Loop)[2]


def test_without_a_choice_the_first_branch_that_completed_is_selected(client):
    with client.parallel([{"model": "a"}, {"model": "b"}]) as group:
        with pytest.raises(OSError, match="down"), group.branches[0]:
            raise OSError("down")
        with group.branches[1]:
            pass

    assert client.records.one(Group).selected_config_index == 1


def test_a_compaction_says_before_and_after(client):
    with client.loop() as loop, loop.compaction(messages=40, tokens=9_000) as compaction:
        compaction.done(messages=3, tokens=700, summary="We made soup.")

    made = client.records.one(Compaction)
    assert (made.messages_before, made.messages_after, made.tokens_before, made.tokens_after) == (
        40,
        3,
        9_000,
        700,
    )
    assert (made.state, made.summary) == ("done", "We made soup.")


def test_a_loop_that_goes_on_names_the_one_before(client):
    with client.loop(session="chat") as first:
        pass
    with client.loop(session="chat", parent=first.id):
        pass

    before, after = client.records.of(Loop)
    assert after.parent is before
    assert len(client.records.of(Session)) == 1


def test_an_input_that_was_refused_ends_the_loop_as_rejected(client):
    with client.loop() as loop:
        loop.reject("not allowed")

    assert client.records.one(Loop).outcome == "rejected"


def test_no_value_makes_a_call_raise(client):
    odd = object()
    with client.loop(agent=None, model=odd, session="\ud800\n", title=odd) as loop:
        loop.user(odd)
        loop.notice(None)
        with loop.turn("User") as turn:
            turn.text(None)
            turn.answer(odd, usage=[1], input="many", output=float("nan"), cost=odd)
            with loop.tool(odd, odd) as tool:
                tool.progress(b"half")
                tool.result({1, 2})

    assert client.records.one(Loop).outcome == "completed"


async def test_asyncio_uses_the_same_blocks(client):
    async with client.loop(model="m") as loop, loop.turn() as turn:
        await turn.text("Hello")
        turn.answer(input=1, output=1)
        with pytest.raises(asyncio.CancelledError):
            async with loop.tool("wait"):
                raise asyncio.CancelledError

    assert client.records.one(Loop).outcome == "completed"
    assert client.records.one(ToolCall).state == "failed"


@pytest.mark.parametrize(
    "reason", ["tools_changed", {"type": "tools_changed", "cache_missed_input_tokens": 9}]
)
def test_the_end_of_the_turn_has_the_reason_of_a_missed_cache(client, reason):
    with client.loop() as loop:
        with loop.turn() as turn:
            turn.answer("Soup.", cache_miss_reason=reason)
            with loop.tool("tap", {}) as tool:
                tool.result("water")
        with loop.turn() as turn:
            turn.answer("More.")

    first, second = client.events("TurnEnd")
    assert first["message"]["diagnostics"] == {"cache_miss_reason": "tools_changed"}
    assert "diagnostics" not in second["message"]
