"""Commands of shells add up to their tool; the floor of an agent grows with its definitions."""

import json
from datetime import date

from dashboard.shared.ledger_sums.floors import OfDay, steps
from recorder.ledger import follower
from recorder.models import LedgerRedo, LedgerSum, Session
from tests.dashboard.pages.context.conftest import carried
from tests.dashboard.pages.context.test_page import nano, rows
from tests.dashboard.pages.costs.test_page import words
from tests.recorder.ledger import carried_file


def shell(loop, command):
    """Return the session of the carried file, which a shell printed."""
    events = json.loads(json.dumps(carried(loop)).replace("read_file", "Bash"))
    for event in events:
        if event["type"] == "ToolExecutionStart":
            event["args"] = {"command": command, "description": "Look"}
    return events


def tools(see):
    return json.loads(see("?project=default&since=2026-02-01", "/api/v1/context/tools"))["tools"]


def test_commands_add_up_to_their_tool(feed, see):
    feed(*shell("s.a.1", "cd /srv && git diff main"))
    feed(*shell("t.a.1", "git log -3"))
    feed(*shell("u.a.1", "cat poetry.lock"))

    (tool,) = tools(see)
    each = {command["command"]: nano(command["carried_usd"]) for command in tool["commands"]}
    assert each == dict.fromkeys(("git diff", "git log", "cat"), carried_file.FILE_NANO)
    assert nano(tool["carried_usd"]) == 3 * carried_file.FILE_NANO
    assert tool["server"] is None
    shown = words(see())
    assert "git Bash 2 10.5k 20.0 $0.271 $0.135 git diff Bash 1 10.5k 20.0 $0.135 $0.135 git log" in shown
    assert {row["name"] for row in rows(see(path="/p/default/context.csv"), "command")} == each.keys()


def test_commands_are_the_same_when_sums_are_made_again(feed):
    feed(*shell("s.a.1", "git diff"))
    named = LedgerSum.objects.filter(kind="tool_result").values_list("name", "server", "cost_nano")
    before = list(named)

    for is_whole in (False, True):
        LedgerRedo.mark(Session.objects.values_list("pk", flat=True), is_whole=is_whole)
        follower.run_all()
        assert list(named) == before == [("Bash", "git diff", carried_file.FILE_NANO)]


def test_a_tool_that_is_no_shell_has_no_commands(feed, see):
    feed(*carried())

    assert tools(see)[0]["commands"] == []
    assert "Shell output by command" not in see()


def test_a_used_shell_is_not_a_definition_that_was_never_called(feed, see):
    events = shell("s.a.1", "git diff")
    for event in events:
        if event["type"] == "TurnRequest":
            event["payload"]["tools"] = [{"name": "Bash", "description": "Runs a command.", "parameters": {}}]
    feed(*events)

    found = json.loads(see("?project=default&since=2026-02-01", "/api/v1/context/tools"))
    what_if = json.loads(see("?project=default&since=2026-02-01T00:00Z", "/api/v1/context/what-if"))
    assert found["never_called"] == []
    (definition,) = [figure for figure in what_if["figures"] if figure["figure"] == "without_definition"]
    assert definition["times_called"] == 1


def of_week(monday, calls, system, tools, version="1"):
    day = date(2026, 1, monday)
    return [
        OfDay("a", version, day, "output", calls, 9, 9),
        OfDay("a", version, day, "system", calls, system * calls, 5 * calls),
        OfDay("a", version, day, "tool_definition", 3 * calls, tools * calls, 7 * calls),
    ]


def test_a_floor_is_one_step_while_it_stays_and_another_when_it_grows():
    rows = [*of_week(5, 10, 400, 600), *of_week(12, 30, 410, 600), *of_week(19, 10, 410, 890)]

    first, second = steps(reversed(rows))
    assert (first.first, first.last, first.calls) == (date(2026, 1, 5), date(2026, 1, 12), 40)
    assert (first.tokens_each, first.tools_each, first.nano_each, first.growth) == (1008, 600, 12, None)
    assert (second.tokens_each, second.growth) == (1300, 1300 / 1008 - 1)


def test_a_version_is_a_step_of_its_own_and_calls_without_a_floor_are_none():
    rows = [*of_week(5, 10, 400, 600), *of_week(5, 10, 300, 450, version="2")]

    assert [(step.version, step.growth) for step in steps(rows)] == [("1", None), ("2", -0.25)]
    assert steps([OfDay("a", "1", date(2026, 1, 5), "output", 3, 0, 0)]) == []


def test_the_floor_is_on_page_in_the_file_and_by_api(feed, see):
    feed(*carried(version="1", tools=("read_file",)))

    (floor,) = json.loads(see("?project=default&since=2026-02-01", "/api/v1/context/floors"))["floors"]
    (row,) = rows(see(path="/p/default/context.csv"), "floor")
    kinds = {
        kind: sum(LedgerSum.objects.filter(kind=kind).values_list("tokens", flat=True))
        for kind in ("system", "tool_definition")
    }
    assert floor["calls"] == carried_file.CALLS
    assert floor["system_tokens"] == round(kinds["system"] / carried_file.CALLS) > 0
    assert floor["tool_tokens"] == round(kinds["tool_definition"] / carried_file.CALLS) > 0
    assert int(row["tokens"]) == floor["tokens"]
    assert "Session floor" in words(see())
