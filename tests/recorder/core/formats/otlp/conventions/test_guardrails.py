"""Guardrails that block something are notices of their loop; a run that ends with one was rejected."""

import pytest

from tests.recorder.core.formats.otlp.spans.lines import events, of_type, span

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
FAILED = {"status": {"code": 2, "message": "no personal data"}}
KINDS = [
    {"openinference.span.kind": "GUARDRAIL"},
    {"langfuse.observation.type": "guardrail"},
    {"gen_ai.operation.name": "apply_guardrail"},
    {"logfire.msg_template": "Guardrail {name!r} triggered={triggered}"},
]


def agent(**more):
    return span(AGENT, name="invoke_agent a", number=9, to=20, **more)


def guardrail(attributes=KINDS[0], number=8, **more):
    return span(attributes, name="pii", number=number, parent=9, **more)


def both(items):
    found = events(items)
    assert [kind for kind, _ in found] == [kind for kind, _ in events(items[::-1])]
    [end] = [event for kind, event in found if kind == "AgentEnd"]
    return [kind for kind, _ in found], end


@pytest.mark.parametrize("attributes", KINDS)
def test_a_guardrail_that_failed_is_a_notice_between_the_turns(attributes):
    calls = [span(CHAT, number=n, parent=9, at=n) for n in (1, 5)]
    kinds, end = both([agent(), *calls, guardrail(attributes, at=3, **FAILED)])

    [notice] = of_type([agent(), *calls, guardrail(attributes, at=3, **FAILED)], "Notice")
    assert (notice["kind"], notice["code"], notice["text"]) == ("guardrail", "pii", "no personal data")
    assert kinds.index("TurnEnd") < kinds.index("Notice") < len(kinds) - kinds[::-1].index("TurnStart") - 1
    assert end["outcome"] == "completed", "the run went on"


def test_a_run_that_a_guardrail_ended_was_rejected():
    kinds, end = both([agent(), guardrail({**KINDS[3], "triggered": True})])
    assert (kinds[-2], end["outcome"], end["error"]) == ("Notice", "rejected", "triggered")

    failed = {"status": {"code": 2, "message": "Tripwire"}}
    kinds, end = both([agent(**failed), span(CHAT, parent=9), guardrail(at=0.5, to=2, **FAILED)])
    assert (end["outcome"], end["error"]) == ("rejected", "no personal data")


def test_a_guardrail_that_passed_is_no_record():
    kinds, end = both([agent(), guardrail({**KINDS[3], "triggered": False}), span(CHAT, parent=9, at=2)])
    assert "Notice" not in kinds
    assert end["outcome"] == "completed"
    assert events([guardrail(**FAILED)]) == [], "no loop begins with one"
