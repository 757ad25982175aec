"""The requests of Claude Code in the records: of a turn, and in the ledger with system prompt and tools."""

import json
import random

import pytest

from loopscope_client.push.sources import sources
from recorder.access import tokens
from recorder.journal.read import texts
from recorder.ledger import follower
from recorder.models import Anomaly, EventRecord, LedgerBlock, LedgerCall, Project, Turn
from recorder.projection.rebuild import rebuild
from tests.recorder.core.formats.transcripts.test_claude_requests import TOOLS, Asking, text, two_calls, use
from tests.recorder.imports.field_cases import cases
from tests.recorder.imports.transcripts.conftest import send
from tests.support.endpoint_clients import post

pytestmark = pytest.mark.django_db(transaction=True)
WINDOW = [
    *(("tool_definition", "Bash", 1), ("system", "", 1), ("system", "", 1), ("user", "", 1)),
    *(("assistant", "", 2), ("assistant", "", 2), ("tool_result", "Bash", 2)),
]
AGENT = {"agentId": "g1", "isSidechain": True}


@pytest.fixture
def home(tmp_path):
    """Return a folder with a session and its sub-agent, each with requests of its own."""
    for path, claude in (("s.jsonl", two_calls()), ("s/subagents/agent-g1.jsonl", two_calls("g", **AGENT))):
        (tmp_path / "p" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "p" / path).write_text("".join(f"{json.dumps(line)}\n" for line in claude.lines))
    return tmp_path / "p"


def streams(home):
    """Return producer and lines of each file, as `loopscope-push` sends them."""
    found = sorted(sources("claude-code", home, lambda path, why: None), key=lambda each: str(each.path))
    return [(source.producer, [each.sent for each in source.every()]) for source in found]


def project_of(name):
    return Project.objects.create(slug=name)


def requests(project):
    """Return the line of the request of each turn."""
    turns = Turn.objects.filter(loop__session__project=project).order_by("loop__loop_id", "ordinal")
    found = [*turns.values_list("loop__loop_id", "ordinal", "request_event")]
    lines = texts([line for *_, line in found if line])
    events = EventRecord.objects.filter(journal__project=project, type="TurnRequest")
    assert events.count() == len(lines)
    return [(loop, ordinal, json.loads(lines[line]) if line else None) for loop, ordinal, line in found]


@pytest.fixture
def wanted(home):
    """Return the requests of an import, with the check that they are those of the lines."""
    project = project_of("imported")
    assert cases.imported(project, home).problems == []
    found = requests(project)
    exact = [(ordinal, line["payload"]["is_exact"]) for _, ordinal, line in found]
    assert exact == [(0, True), (1, False)] * 2
    assert Anomaly.objects.count() == 0
    return found


def test_a_second_import_and_a_rebuild_change_no_request(home, wanted):
    project = Project.objects.get(slug="imported")
    assert cases.imported(project, home).events == 0
    assert requests(project) == wanted
    rebuild(project)
    assert requests(project) == wanted


@pytest.mark.parametrize("order", [1, -1], ids=["named", "reversed"])
def test_lines_that_are_pushed_one_by_one_and_again_give_the_same_requests(home, wanted, order):
    project = project_of("pushed")
    token = tokens.issue(project, "tests", ["ingest"])
    for producer, lines in 2 * streams(home)[::order]:
        for number, line in enumerate(lines):
            answer = post(line, token, query="format=claude-code", x_producer=producer, x_first_seq=number)
            assert (answer.status, answer.json["rejected"]) == (200, [])
    assert requests(project) == wanted


@pytest.mark.parametrize("order", [1, -1], ids=["named", "reversed"])
def test_files_that_are_cut_off_at_each_line_give_the_same_requests(home, wanted, order):
    project = project_of("cut")
    for producer, lines in streams(home)[::order]:
        stream = cases.Stream("", producer, lines)
        for number in range(len(lines)):
            cases.send(project, stream, "claude-code", number, number + 1)
            cases.flush(project, stream, "claude-code")
    assert requests(project) == wanted
    rebuild(project)
    assert requests(project) == wanted


def test_requests_repeat_neither_system_prompt_nor_tools_nor_messages(project):
    """The first one has them, as an event that is derived from several lines; another one names its shape."""
    chance = random.Random(7)
    part, about, tool = (chance.randbytes(9_000).hex() for _ in range(3))
    claude = Asking()
    claude.prompt("Go")
    claude.shape(system=[text("You are an agent."), text(part)], tools=[{**TOOLS[0], "description": tool}])
    claude.blob("h1", {"role": "user", "content": [text(about), text("Go")]})
    for number in range(20):
        more = {"base": f"r{number - 1}", "keep": 2 * number - 1} if number else {}
        claude.ask(f"r{number}", [f"h{2 * number}", f"h{2 * number + 1}"] if number else ["h1"], **more)
        claude.answer(f"m{number}", use(number), stop="tool_use", requestRef=f"r{number}")
        claude.result(f"c{number}")
    send(project, "claude-code", "f", [[line] for line in claude.lines])

    events = EventRecord.objects.filter(type="TurnRequest").order_by("journal").select_related("journal")
    first, *others = [len(event.journal.own) + len(event.journal.pieces or "") for event in events]
    assert len(others) == 19
    assert first < len(part) + len(about) + len(tool) + 1_000
    assert max(others) < 450


def window():
    blocks = LedgerBlock.objects.filter(last_call=None).order_by("number")
    return [(block.kind, block.name, block.first_call) for block in blocks]


def test_the_ledger_has_the_system_prompt_and_the_tools_of_all_calls(project):
    send(project, "claude-code", "f", [two_calls().lines])
    follower.run_all()

    recorded = [*LedgerCall.objects.order_by("number").values_list("is_recorded", flat=True)]
    assert recorded == [True, False]
    assert window() == WINDOW


def test_the_ledger_says_so_if_a_request_has_another_shape_that_is_not_recorded(project):
    claude = two_calls()
    claude.prompt("More")
    claude.ask("r3", ["h4"], shape="gone", base="r2", keep=3)
    claude.answer("m3", text("Yes"), requestRef="r3")
    send(project, "claude-code", "f", [claude.lines])
    follower.run_all()

    fixed = [block for block in window() if block[0] in ("system", "tool_definition")]
    assert fixed == [("system", "not recorded", 3)]
