"""Of agent spans directly above each other, the one that names its agent is the loop."""

from tests.recorder.core.formats.otlp.build import OPENINFERENCE, llm, loops, span

SCOPE = f"{OPENINFERENCE}foo"


def agent(number, parent, name, at, agent_name=None):
    attributes = {"openinference.span.kind": "AGENT"} | ({"agent.name": agent_name} if agent_name else {})
    return span(number, parent, name, at, attributes, scope=SCOPE)


def call(number, parent, at):
    return span(number, parent, "ChatCompletion", at, llm(), scope=SCOPE)


def found(*lines):
    return sorted((loop["agent"], loop["turns"]) for loop in loops([*lines]))


def test_an_outer_agent_with_a_name_is_the_loop():
    lines = [agent(1, None, "Outer", (0, 4), "Weather agent"), agent(2, 1, "run step", (0.5, 3))]
    assert found(*lines, call(3, 2, (1, 2))) == [("Weather agent", 1)]


def test_an_inner_agent_with_a_name_is_the_loop():
    inner = agent(2, 1, "Inner", (0.5, 3), "Weather agent")
    for name in (None, "Workflow"):
        assert found(agent(1, None, "Outer", (0, 4), name), inner, call(3, 2, (1, 2))) == [
            ("Weather agent", 1)
        ]


def test_the_inner_one_of_two_agents_without_names_is_the_loop():
    lines = [agent(1, None, "Outer", (0, 4)), agent(2, 1, "Inner", (0.5, 3))]
    assert found(*lines, call(3, 2, (1, 2))) == [("Inner", 1)]


def test_steps_without_names_are_turns_of_the_agent():
    steps = [agent(2, 1, "run step", (0.5, 3)), agent(4, 1, "run step", (3, 6))]
    lines = [agent(1, None, "Outer", (0, 9), "Weather agent"), *steps]
    assert found(*lines, call(3, 2, (1, 2)), call(5, 4, (4, 5))) == [("Weather agent", 2)]


def test_agents_without_names_side_by_side_are_loops():
    sides = [agent(2, 1, "left", (0.5, 3)), agent(4, 1, "right", (0.6, 6))]
    lines = [agent(1, None, "Outer", (0, 9), "both"), *sides]
    assert found(*lines, call(3, 2, (1, 2)), call(5, 4, (4, 5))) == [("left", 1), ("right", 1)]


def test_an_agent_without_a_name_between_two_with_one_is_no_loop():
    lines = [
        agent(1, None, "Outer", (0, 9), "Workflow"),
        agent(2, 1, "run", (0.5, 8)),
        agent(3, 2, "Inner", (0.6, 7), "Weather agent"),
    ]
    assert found(*lines, call(4, 3, (1, 2))) == [("Weather agent", 1)]
