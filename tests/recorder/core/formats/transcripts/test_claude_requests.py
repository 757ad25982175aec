"""The requests that Claude Code writes beside its answers: exact where every part is there, else marked."""

import json
from pathlib import Path

import pytest

from tests.recorder.core.formats.transcripts.test_bounds import answer, claude, prompt, read, use

TAPES = Path(__file__).parents[4] / "tapes"
TOOLS = [{"name": "Bash", "description": "Run", "input_schema": {"type": "object"}}]
SYSTEM = [{"type": "text", "text": "You are an agent."}, {"type": "text", "text": "Be brief."}]
PROMPT = {"role": "user", "content": [{"type": "text", "text": "Reminder"}, {"type": "text", "text": "Go"}]}
PLACES = [{"path": ["system", 0], "value": {"type": "ephemeral"}}]


class Asking:
    """Lines of a transcript with those about requests, in order; `about` are fields of each of them."""

    def __init__(self, name="", **about):
        self.lines, self.name, self.about = [], name, about

    def line(self, kind, **fields):
        at = f"2026-11-22T15:00:{len(self.lines):02}.000Z"
        line = claude(kind, f"u{self.name}{len(self.lines)}", **fields, **self.about)
        self.lines.append(line | {"timestamp": at})

    def prompt(self, words="Go"):
        self.lines.append(prompt(f"{self.name}{words}", **self.about))

    def shape(self, name="s1", system=SYSTEM, tools=TOOLS):
        self.line("api-request-shape", shapeHash=name, shape={"system": system, "tools": tools})

    def blob(self, name, message):
        self.line("api-request-blob", hash=name, message=message)

    def ask(self, name, tail, *, shape="s1", **more):
        params = {"model": "claude-opus-5-5", "max_tokens": 900, "output_config": {"effort": "medium"}}
        about = {"shapeHash": shape, "params": params, "querySource": "sdk", "cacheControl": PLACES}
        self.line("api-request", id=name, tail=tail, **about, **{"keep": 0, **more})

    def answer(self, key, *blocks, stop="end_turn", **more):
        uuid = f"a{self.name}{len(self.lines)}"
        self.lines.append(answer(uuid, *blocks, key=f"{self.name}{key}", stop=stop, **more, **self.about))

    def result(self, call):
        block = {"type": "tool_result", "tool_use_id": call, "content": "one"}
        self.line("user", message={"role": "user", "content": [block]})

    def told(self, system, tools):
        attachment = {"type": "prompt_snapshot", "systemPrompt": system, "tools": tools}
        self.line("attachment", attachment=attachment)


def text(words):
    return {"type": "text", "text": words}


def requests(lines):
    """Return the turn's index, the time and the payload of each request, with the state stored each time."""
    found = [event for event in read(lines)[0] if event["type"] == "TurnRequest"]
    return [(each["turn_index"], each["timestamp"], each["payload"]) for each in found]


def two_calls(name="", **about):
    claude = Asking(name, **about)
    claude.prompt("Go")
    claude.shape()
    claude.blob("h1", PROMPT)
    claude.ask(f"{name}r1", ["h1"])
    claude.answer("m1", text("I look."), stop="tool_use", requestRef=f"{name}r1")
    claude.answer("m1", use(1), stop="tool_use", requestRef=f"{name}r1")
    claude.result("c1")
    claude.ask(f"{name}r2", ["h2", "h3"], base=f"{name}r1", keep=1)
    claude.answer("m2", text("Done"), requestRef=f"{name}r2")
    return claude


def test_a_request_is_exact_if_every_part_is_there():
    (index, at, payload), _ = requests(two_calls().lines)

    assert (index, at) == (0, "2026-11-22T15:00:03Z")
    assert payload == {
        "model_id": "claude-opus-5-5",
        "request_id": "r1",
        "max_tokens": 900,
        "thinking_level": "medium",
        "purpose": "sdk",
        "kept_messages": 0,
        "added_messages": 1,
        "cache_places": PLACES,
        "system": SYSTEM,
        "tools": TOOLS,
        "messages": [PROMPT],
        "is_exact": True,
    }


def test_a_request_whose_messages_are_lines_of_the_transcript_is_not_exact():
    _, (index, at, payload) = requests(two_calls().lines)

    assert (index, at) == (1, "2026-11-22T15:00:07Z")
    assert not {"system", "tools", "messages", "is_shape_missing"} & payload.keys()
    assert (payload["kept_messages"], payload["added_messages"], payload["is_exact"]) == (1, 2, False)


def test_a_shape_that_is_not_recorded_is_not_taken_from_the_request_before():
    claude = two_calls()
    claude.prompt("More")
    claude.ask("r3", ["h4"], shape="gone", base="r2", keep=3)
    claude.answer("m3", text("Yes"), requestRef="r3")

    *_, (_, _, payload) = requests(claude.lines)

    assert payload["is_shape_missing"] is True
    assert payload["is_exact"] is False


def test_another_shape_is_given_and_the_same_one_is_not_repeated():
    claude = two_calls()
    claude.shape("s2", tools=[])
    for number, shape in enumerate(("s2", "s2", "s1")):
        claude.prompt(f"More {number}")
        claude.ask(f"q{number}", ["h"], shape=shape, base="r2", keep=3)
        claude.answer(f"n{number}", text("Yes"), requestRef=f"q{number}")

    names = [payload.keys() & {"system", "is_shape_missing"} for *_, payload in requests(claude.lines)]

    assert names == [{"system"}, set(), {"system"}, set(), {"is_shape_missing"}]


def test_the_results_of_tools_are_messages_of_their_own():
    claude = Asking()
    claude.prompt("Go")
    claude.shape()
    result = {"type": "tool_result", "tool_use_id": "c9", "content": "nine"}
    claude.blob("h1", {"role": "user", "content": [result, {"type": "text", "text": "Go"}]})
    claude.ask("r1", ["h1"])
    claude.answer("m1", text("Done"), requestRef="r1")

    ((_, _, payload),) = requests(claude.lines)

    assert payload["messages"] == [
        {"role": "toolResult", "toolCallId": "c9", "content": "nine"},
        {"role": "user", "content": [{"type": "text", "text": "Go"}]},
    ]


def test_a_snapshot_of_the_prompt_is_a_request_that_is_not_exact_once():
    claude = Asking()
    claude.prompt("Go")
    tools = [{"name": "Bash", "description": "Run", "schema": TOOLS[0]}]
    for number in range(2):
        claude.told(["You are an agent.", "Be brief."], tools)
        claude.answer(f"m{number}", text("Done"), requestRef="unknown")
        claude.prompt(f"More {number}")

    ((index, _, payload),) = requests(claude.lines)

    assert index == 0
    assert payload == {
        "model_id": "claude-sonnet-4-5",
        "system": SYSTEM,
        "tools": TOOLS,
        "is_exact": False,
    }


def test_a_turn_that_a_call_begins_begins_when_its_request_was_sent():
    claude = two_calls()
    claude.shape("s2")
    claude.ask("r3", ["h4"], shape="s2", base="r2", keep=3)
    claude.answer("m3", text("Yes"), requestRef="r3")

    *_, start = (event for event in read(claude.lines)[0] if event["type"] == "TurnStart")
    *_, (index, at, _) = requests(claude.lines)

    assert (start["turn_index"], start["timestamp"]) == (index, at)


def test_messages_of_a_request_that_is_not_exact_are_not_held():
    claude = Asking()
    claude.prompt("Go")
    claude.blob("h1", PROMPT)
    claude.ask("r1", ["h0", "h1"])

    assert read(claude.lines)[1]["requests"]["bodies"] == {}


@pytest.mark.parametrize(
    "line",
    [
        {"type": "api-request"},
        {"type": "api-request", "id": ["r"], "params": [], "tail": {}},
        {"type": "api-request", "id": "r", "tail": [[1], None, {"a": 1}], "keep": -3, "cacheControl": 7},
        {"type": "api-request-shape", "shapeHash": "s", "shape": {"system": [3], "tools": "all"}},
        {"type": "api-request-shape", "shapeHash": "s" * 999, "shape": []},
        {"type": "api-request-blob", "hash": "h", "message": "text"},
        {"type": "attachment", "attachment": {"type": "prompt_snapshot", "systemPrompt": {}, "tools": [1]}},
    ],
)
def test_malformed_lines_about_requests_change_no_turn(line):
    claude = Asking()
    claude.prompt("Go")
    claude.line(**{"kind": line["type"], **{name: value for name, value in line.items() if name != "type"}})
    claude.answer("m1", text("Done"), requestRef="r")
    claude.line("cost-state")

    assert [event["type"] for event in read(claude.lines)[0]][-3:] == ["TurnEnd", "AgentEnd", "CostStated"]


def test_a_capture_of_a_release_has_a_request_for_each_answer():
    (path,) = (TAPES / "both" / "claude-code").glob("*.jsonl")

    found = requests([json.loads(line) for line in path.read_text().splitlines()])

    assert [payload["is_exact"] for *_, payload in found] == [True, False, False]
    assert len(found[0][2]["tools"]) > 5
    assert [at for _, at, _ in found] == [
        "2026-11-25T21:13:27.682000Z",
        "2026-11-25T21:13:28.069000Z",
        "2026-11-25T21:13:30.937000Z",
    ]
