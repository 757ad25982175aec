"""Calls of Codex that have no id, or that another line than their result says something of, and prompts."""

import pytest

from recorder.models import Anomaly, ToolCall
from tests.recorder.imports.field_cases import cases
from tests.recorder.imports.transcripts.test_codex import answered, codex, item, task

pytestmark = pytest.mark.django_db(transaction=True)
DONE = ("event_msg", {"type": "task_complete", "last_agent_message": "Done"})
CALL = item("function_call", name="search", namespace="mcp__docs__", arguments="{}", call_id="c1")
OUTPUT = item("function_call_output", call_id="c1", output="ok")
SEARCH = {"status": "completed", "action": {"type": "search", "query": "x"}}


def tools(loop):
    found = ToolCall.objects.filter(loop=loop).order_by("id")
    return [(each.tool_name, each.state) for each in found]


def test_calls_without_an_id_of_their_own_are_counted_and_end(record):
    found = {"type": "tool_search_output", "call_id": "s1", "status": "completed", "tools": [{"name": "a"}]}
    lines = codex(
        item("tool_search_call", call_id="s1", execution="client", arguments={"query": "a"}),
        ("response_item", found),
        item("tool_search_call", call_id=None, execution="server", arguments={"query": "b"}),
        item("local_shell_call", id="l1", call_id=None, action={"type": "exec", "command": ["ls"]}),
        item("function_call_output", call_id="l1", output="ok"),
        item("web_search_call", **SEARCH),
        item("web_search_call", **SEARCH),
        answered(),
        DONE,
    )

    (loop,) = record("codex", lines)

    names = ("tool_search", "tool_search", "local_shell", "web_search", "web_search")
    assert tools(loop) == [(name, "done") for name in names]
    assert (loop.tool_calls, loop.errors, loop.outcome) == (5, 0, "completed")


@pytest.mark.parametrize(
    ("event", "failed"),
    [
        ({"type": "mcp_tool_call_end", "result": {"Err": "no server"}}, True),
        ({"type": "mcp_tool_call_end", "result": {"Ok": {"content": [], "isError": True}}}, True),
        ({"type": "mcp_tool_call_end", "result": {"Ok": {"content": [], "isError": False}}}, False),
        ({"type": "patch_apply_end", "success": False}, True),
        ({"type": "patch_apply_end", "success": False, "status": "declined"}, False),
        ({"type": "exec_command_end", "exit_code": 2}, True),
        ({"type": "exec_command_end", "exit_code": 0}, False),
    ],
)
def test_an_event_says_that_a_call_failed_whatever_its_result_reads_like(record, event, failed):
    lines = codex(CALL, ("event_msg", event | {"call_id": "c1"}), OUTPUT, answered(), DONE)

    (loop,) = record("codex", lines)

    assert tools(loop) == [("mcp__docs__search", "failed" if failed else "done")]
    assert (loop.tool_calls, loop.errors) == (1, int(failed))


@pytest.mark.parametrize("form", ["response_item", "inter_agent_communication"])
def test_what_another_agent_writes_is_the_prompt_of_a_task(record, form):
    content = [{"type": "input_text", "text": "Review it"}]
    sent = {"author": "main", "recipient": "reviewer", "content": content}
    if form == "response_item":
        sent["type"] = "agent_message"
    else:
        sent |= {"content": "Review it", "trigger_turn": True}

    (loop,) = record("codex", codex((form, sent), answered(), DONE))

    assert (loop.title, loop.turns) == ("Review it", 1)
    assert not Anomaly.objects.exists()


@pytest.mark.parametrize(
    ("words", "title"),
    [
        (
            "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nMend it\n",
            "Mend it",
        ),
        ("# Context from my IDE setup:\n\nNothing else", "# Context from my IDE setup: Nothing else"),
        ("<user_shell_command>\n<command>\nls -l\n</command>\n<result>\nExit code: 0\n</result>", "! ls -l"),
    ],
)
@pytest.mark.parametrize("has_event", [True, False])
def test_a_prompt_of_codex_is_titled_as_it_was_typed(record, words, title, has_event):
    prompt = item("message", role="user", content=[{"type": "input_text", "text": words}])
    event = ("event_msg", {"type": "user_message", "message": words})

    (loop,) = record("codex", codex(prompt, *([event] if has_event else []), answered(), DONE))

    assert loop.title == title
    assert sum(cases.prompts(loop.session.project).values()) == 1


@pytest.mark.parametrize("is_event_first", [True, False])
def test_a_prompt_while_a_task_goes_on_is_one_of_it(record, is_event_first):
    def pair(words):
        lines = [("event_msg", {"type": "user_message", "message": words})]
        lines.append(item("message", role="user", content=[{"type": "input_text", "text": words}]))
        return lines if is_event_first else lines[::-1]

    lines = [*pair("Go"), CALL, OUTPUT, *pair("Left"), answered(), *pair("Left"), answered(), DONE]
    (loop,) = record("codex", codex(*lines))

    assert cases.prompts(loop.session.project) == {"Go": 1, "Left": 2}


def test_what_codex_adds_as_a_message_of_the_user_is_no_prompt(record):
    added = ("<skill>\n<name>x</name>", "<subagent_notification>\n{}", "<codex_internal_context source='a'>")
    lines = codex(
        *[item("message", role="user", content=[{"type": "input_text", "text": each}]) for each in added],
        item("message", role="user", content=[{"type": "input_text", "text": "Go"}]),
        answered(),
        DONE,
    )

    (loop,) = record("codex", lines)

    assert (loop.title, cases.prompts(loop.session.project)) == ("Go", {"Go": 1})


def test_the_name_of_a_thread_is_the_title_of_its_session(record):
    name = ("event_msg", {"type": "thread_name_updated", "thread_id": "thread", "thread_name": "My work"})

    first, second = record("codex", codex(answered(), DONE, name, task("t2"), answered(), DONE))

    assert {loop.session.title for loop in (first, second)} == {"My work"}
