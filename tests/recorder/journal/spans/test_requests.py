"""The system prompt and the tools of model calls: requests of their turns."""

import json
import random

import pytest

from dashboard.pages.compare.queries.requests import first_requests
from recorder.journal.read import texts
from recorder.models import Project, Turn
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)
WITH_TOOLS = [
    "clients/anthropic-openinference/02-tool-no-parent-span",
    "clients/openai-openinference/02-tool-no-parent-span",
    "frameworks/google-adk/02-tool",  # the system prompt is in a log record
    "frameworks/langgraph-openinference/02-tool",
    "frameworks/langgraph-traceloop/02-tool",
    "frameworks/pydantic-ai/02-tool",
    "frameworks/pydantic-ai/20-version-2-tool",
    "frameworks/vercel-ai-sdk/02-tool",
]
WITHOUT_TOOLS = ["clients/openai-otel-v2/02-tool-no-parent-span"]


def record(capture, *, change=lambda line: line):
    project = Project.objects.create(slug=f"p{Project.objects.count()}")
    for batch in captures.lines(capture):
        captures.record(project, [change(line) for line in batch])
    return project


def requests(project):
    """Return the request of each turn, None for one that was asked the same as the turn before it."""
    turns = Turn.objects.filter(loop__session__project=project).order_by("loop__started_at", "ordinal")
    bodies = texts([turn.request_event for turn in turns if turn.request_event])
    found = [json.loads(bodies[turn.request_event]) if turn.request_event else None for turn in turns]
    return [each and (each["turn_index"], each["payload"]) for each in found]


def tool_names(payload):
    return [(tool.get("function") or tool)["name"] for tool in payload.get("tools", [])]


@pytest.mark.parametrize("capture", WITH_TOOLS + WITHOUT_TOOLS)
def test_the_first_turn_has_the_request_and_the_second_the_same(capture):
    (index, payload), second = requests(record(capture))

    assert (index, second) == (0, None)
    assert payload["model_id"]
    assert payload["system_prompt"].startswith("Be brief.")
    assert tool_names(payload) == (["get_weather", "divide"] if capture in WITH_TOOLS else [])
    assert "messages" not in payload


@pytest.mark.parametrize("capture", ["frameworks/google-adk/02-tool", "frameworks/pydantic-ai/02-tool"])
def test_requests_do_not_depend_on_the_order_of_arrival(capture):
    wanted = requests(record(capture))
    lines = [line for batch in captures.lines(capture) for line in batch]
    random.Random(2).shuffle(lines)
    project = Project.objects.create(slug="single")
    for line in lines:
        captures.record(project, [line])

    assert requests(project) == wanted
    rebuild(project)
    assert requests(project) == wanted


def test_content_that_is_switched_off_is_no_request():
    (_, payload), _ = requests(record("frameworks/pydantic-ai/21-no-content-tool"))

    assert "system_prompt" not in payload
    assert tool_names(payload) == ["get_weather", "divide"]  # pydantic-ai sends them all the same
    assert requests(record("coding_agents/codex-otlp/parallel")) == [None, None]


def test_a_request_that_changes_is_recorded_again():
    seen = []

    def change(line):
        if b"gen_ai.system_instructions" in line and b"get_weather" in line:
            seen.append(line)
        return line.replace(b"Be brief.", b"Be long.") if len(seen) > 1 else line

    found = requests(record("frameworks/pydantic-ai/02-tool", change=change))

    assert [payload["system_prompt"] for _, payload in found] == ["Be brief.", "Be long."]


def test_the_comparison_reads_requests_of_spans():
    capture = "frameworks/vercel-ai-sdk/02-tool"
    other = record(capture, change=lambda line: line.replace(b"Be brief.", b"Be long."))
    of = {each.pk: Turn.objects.filter(loop__session__project=each) for each in (record(capture), other)}

    found = list(first_requests("p", of).values())

    assert [request.prompt for request in found] == ["Be brief.", "Be long."]
    assert [*found[0].tools] == ["get_weather", "divide"]
