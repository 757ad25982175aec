"""A workflow of GenAI's conventions: its own calls are a loop with its name, beside those of its agents."""

import pytest

from tests.recorder.core.formats.otlp.spans.lines import of_type, span

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}
WORKFLOW = {"gen_ai.operation.name": "invoke_workflow"}


def agent(name, **more):
    about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    return span(about, name=f"invoke_agent {name}", parent=1, **more)


@pytest.mark.parametrize(
    ("attributes", "name"),
    [({"gen_ai.workflow.name": "travel"}, "invoke_workflow travel"), ({}, "invoke_workflow travel")],
)
def test_a_plan_of_a_workflow_is_of_no_agent(attributes, name):
    items = [
        span(WORKFLOW | attributes, name=name, number=1, to=20),
        span({"gen_ai.operation.name": "plan"}, name="plan", number=2, parent=1, to=2),
        span(CHAT, number=3, parent=2),
        agent("left", number=4, at=3, to=6),
        span(CHAT, number=5, parent=4, at=4),
        agent("right", number=6, at=7, to=9),
        span(CHAT, number=7, parent=6, at=8),
    ]
    loops = {event["loop_id"]: event["agent_id"] for event in of_type(items, "AgentStart")}
    assert sorted(loops[event["loop_id"]] for event in of_type(items, "TurnEnd")) == [
        "left",
        "right",
        "travel",
    ]
