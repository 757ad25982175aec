"""The client for tests keeps in memory what a program records."""

import threading

import pytest

from loopscope_client import AsyncClient, Client
from loopscope_client.testing import MemoryClient


@pytest.fixture
def client():
    with MemoryClient() as client:
        yield client


class Odd(dict):
    def __contains__(self, key):
        raise ValueError("odd")


def answer(client):
    """Record a loop with a tool call within a turn and one beside it."""
    with client.loop(agent="cook", model="m", session="kitchen", temperature=0.2) as loop:
        loop.user("Leeks?")
        with loop.turn() as turn:
            turn.text("I look.")
            with loop.tool("recipes", {"query": "leeks"}) as tool:
                tool.result("Soup")
        with loop.turn() as turn:
            turn.answer("Soup.", input=18, output=5)
        with loop.tool("bell") as tool:
            tool.error("broken")


def test_loops_turns_and_tool_calls_are_read_back(client):
    answer(client)

    (loop,) = client.loops("cook")
    assert client.loops("baker") == []
    assert (loop.session, loop.config["model"], loop.config["temperature"]) == ("kitchen", "m", 0.2)
    assert (loop.prompts, loop.outcome, loop.error) == (["Leeks?"], "completed", "")
    assert [turn.answer for turn in loop.turns] == ["I look.", "Soup."]
    assert loop.turns[1].usage["output"] == 5
    assert [[call.name for call in turn.tool_calls] for turn in loop.turns] == [["recipes"], []]
    recipes, bell = client.tool_calls()
    assert (recipes.args, recipes.result, recipes.is_error) == ({"query": "leeks"}, "Soup", False)
    assert client.tool_calls("bell") == [bell]
    assert (bell.result, bell.is_error) == ("broken", True)
    client.assert_complete()


def test_branches_and_sub_agents_are_loops(client):
    with client.parallel([{"model": "a"}, {"model": "b"}], agent="chef") as group:
        for branch in group:
            with branch as loop, loop.sub_agent("baker", "Bread"):
                pass

    assert [loop.config["model"] for loop in client.loops("chef")] == ["a", "b"]
    assert [loop.prompts for loop in client.loops("baker")] == [["Bread"], ["Bread"]]
    client.assert_complete()


def test_a_failure_is_an_end(client):
    with pytest.raises(OSError, match="down"), client.loop() as loop, loop.turn(), loop.tool("fetch"):
        raise OSError("down")
    with client.loop() as loop:
        loop.reject("a password")

    failed, rejected = client.loops()
    assert (failed.outcome, failed.error) == ("failed", "OSError: down")
    assert (rejected.outcome, rejected.error) == ("rejected", "a password")
    client.assert_complete()


def test_parts_without_an_end_are_named(client):
    loop = client.loop(session="s")
    loop.__enter__()
    loop.turn().__enter__()
    loop.tool("bash").__enter__()

    with pytest.raises(AssertionError) as caught:
        client.assert_complete()

    missing = f"of loop {loop.id} has no end"
    assert str(caught.value) == f"a call of bash {missing}; turn 0 {missing}; loop {loop.id} has no end"


def test_a_call_that_cannot_be_recorded_does_not_raise_but_is_not_complete(client):
    with client.loop() as loop, loop.tool("bash") as tool:
        tool.result([Odd()])
    client.forward(b"no JSON")

    with pytest.raises(
        AssertionError, match=r"an event was not recorded: ValueError: odd.*a line is not an event"
    ):
        client.assert_complete()


def test_events_have_the_values_that_a_server_gets(client):
    client.send({"type": "Notice", "at": (1, float("nan")), "what": {1}})
    client.forward(b'{"type":"Notice","text":"Hi"}')
    client.score("chat", "quality", 4, "All pass.")

    assert client.events("Notice") == [
        {"type": "Notice", "at": [1, None], "what": "{1}"},
        {"type": "Notice", "text": "Hi"},
    ]
    (score,) = client.events("Score")
    assert (score["target"]["session_id"], score["name"], score["value"]) == ("chat", "quality", 4)
    assert client.position == client.status.sent == 2


def test_a_closed_client_records_nothing_and_leaves_no_thread():
    before = threading.enumerate()
    with MemoryClient() as client:
        assert isinstance(client, Client)
        assert client.has_room(10**12)
        client.finish()
        assert client.flush()
        assert client.status.ok
        assert threading.enumerate() == before
    client.send({"type": "Notice"})

    assert client.events() == []
    assert client.status.state == "closed"
    client.assert_complete()


async def test_the_client_for_asyncio_records_into_the_same_memory(client):
    async with client.as_async as connected:
        assert isinstance(connected, AsyncClient)
        async with connected.loop(agent="cook") as loop, loop.turn() as turn:
            await turn.answer("Soup.")
        assert await connected.flush()

    assert client.loops("cook")[0].turns[0].answer == "Soup."
    assert client.status.state == "closed"
