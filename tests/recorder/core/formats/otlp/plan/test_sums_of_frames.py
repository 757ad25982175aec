"""Usage and cost that only a workflow or a chain reports are counted once."""

import itertools
import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import events, log, span

CHAIN = {"openinference.span.kind": "CHAIN"}
WORKFLOW = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "crew"}
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "guide"}
CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read"}
OI_USAGE = {"llm.token_count.prompt": 100, "llm.token_count.completion": 20}
USAGE = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}
LANGFUSE = {
    "langfuse.observation.type": "chain",
    "langfuse.observation.usage_details": json.dumps({"input": 100, "output": 20}),
}


def nested(*attributes):
    """Return spans below each other."""
    return [
        span(each, number=number, parent=number - 1, at=number, to=20 - number)
        for number, each in enumerate(attributes, 1)
    ]


def beside(*attributes, parent=1):
    """Return spans below a first one, one after the other."""
    first = span(attributes[0], number=parent, at=0, to=90)
    rest = enumerate(attributes[1:], parent + 1)
    return [first, *(span(each, number=n, parent=parent, at=n, to=n + 0.5) for n, each in rest)]


def usage_of_turns(items):
    """Return input and output of each turn by its loop, None where none is known; in any order of arrival."""
    found = [_usage(order) for order in itertools.permutations(items)]
    assert all(each == found[0] for each in found)
    return found[0]


def _usage(items):
    ends = [event for kind, event in events(items) if kind == "TurnEnd"]
    return [
        None if end.get("has_usage") is False else (end["usage"]["input"], end["usage"]["output"])
        for end in ends
    ]


@pytest.mark.parametrize("items", [
    nested(CHAIN | OI_USAGE),
    nested(WORKFLOW | USAGE),
    nested(LANGFUSE),
    nested(CHAIN | OI_USAGE, CALL),
    nested(CHAIN | OI_USAGE, CHAIN | OI_USAGE, CALL),
    nested(CHAIN | OI_USAGE, AGENT),
    nested(WORKFLOW | USAGE, AGENT, CALL),
    nested(AGENT, CHAIN | OI_USAGE),
    nested(AGENT, CHAIN | OI_USAGE, CALL),
    nested(WORKFLOW | USAGE, TOOL),
])  # fmt: skip
def test_usage_that_only_a_frame_reports_is_that_of_its_call(items):
    assert usage_of_turns(items) == [(100, 20)]


@pytest.mark.parametrize(("items", "usages"), [
    (beside(AGENT, CHAIN | OI_USAGE, CHAIN | OI_USAGE), [(100, 20), (100, 20)]),
    (beside(CHAIN | OI_USAGE, CHAIN | OI_USAGE, CHAIN | OI_USAGE), [(100, 20), (100, 20)]),
    (beside(CHAIN | OI_USAGE, CALL, CALL), [None, (100, 20)]),
    (nested(CHAIN | {"llm.token_count.prompt": 999}, CALL | USAGE), [(100, 20)]),
])  # fmt: skip
def test_of_frames_the_innermost_counts(items, usages):
    assert usage_of_turns(items) == usages


def test_what_several_agents_used_is_that_of_the_workflow_above_them():
    items = [*beside(WORKFLOW | USAGE, AGENT, AGENT), span(CALL, number=9, parent=2, at=2.1, to=2.2)]
    found = events(items)

    ends = {event["loop_id"]: event for kind, event in found if kind == "TurnEnd"}
    assert [end["usage"]["input"] for end in ends.values() if end.get("has_usage") is not False] == [100]
    links = [event["parent_loop_id"] for kind, event in found if kind == "SubAgentLinked"]
    assert ends[links[0]]["usage"]["input"] == 100
    assert len(links) == 2


@pytest.mark.parametrize("outer", [AGENT, WORKFLOW])
def test_a_cost_alone_is_that_of_the_last_call(outer):
    found = events(nested(outer | {"gen_ai.usage.cost": 0.0123}, CALL))

    assert [event["cost"] for kind, event in found if kind == "TurnEnd"] == ["0.012300000"]


@pytest.mark.parametrize("kind", ["EMBEDDING", "RETRIEVER", "RERANKER", "GUARDRAIL"])
def test_usage_of_what_is_no_run_is_no_turn(kind):
    assert usage_of_turns(nested(CHAIN, {"openinference.span.kind": kind} | OI_USAGE)) == []


def test_a_frame_has_the_sum_of_what_log_records_report():
    records = [log("gen_ai.client.inference.operation.details", USAGE, number=n, at=n + 0.5) for n in (2, 3)]
    doubled = {name: 2 * count for name, count in OI_USAGE.items()}

    assert usage_of_turns([*beside(CHAIN | doubled, CALL, CALL), *records]) == [(100, 20), (100, 20)]
