"""Nodes of one step of LangGraph are loops if they run side by side, and turns if one follows the other."""

import json

import pytest

from tests.recorder.core.formats.otlp.build import OPENINFERENCE, llm, loops, span

SCOPE = f"{OPENINFERENCE}langchain"


def chain(number, parent, name, at, step=None):
    attributes = {"openinference.span.kind": "CHAIN"}
    if step is not None:
        attributes["metadata"] = json.dumps({"langgraph_step": step, "langgraph_node": "n"})
    return span(number, parent, name, at, attributes, scope=SCOPE)


def graph(*chains):
    """Return a graph whose node runs some chains, each with a model call."""
    lines = [chain(1, None, "LangGraph", (0, 9)), chain(2, 1, "n", (0, 9), step=1)]
    for number, (name, *at) in enumerate(chains, 3):
        lines += [
            chain(number, 2, name, at, step=1),
            span(number + 10, number, "ChatOpenAI", at, llm(), scope=SCOPE),
        ]
    return lines


@pytest.mark.parametrize("pause", [0, 1])
def test_chains_of_a_node_that_follow_each_other_are_turns_of_one_loop(pause):
    found = loops(graph(("grade", 1, 2), ("rewrite", 2 + pause, 4)))
    assert [(loop["agent"], loop["turns"]) for loop in found] == [("LangGraph", 2)]


def test_chains_whose_times_overlap_are_loops_side_by_side():
    found = loops(graph(("left", 1, 3), ("right", 2, 4)))
    assert [(loop["agent"], loop["turns"]) for loop in found] == [("left", 1), ("right", 1)]


def test_a_chain_after_two_parallel_ones_is_a_turn_of_the_graph():
    found = loops(graph(("left", 1, 3), ("right", 2, 4), ("join", 5, 6)))
    assert [(loop["agent"], loop["turns"]) for loop in found] == [("LangGraph", 1), ("left", 1), ("right", 1)]
