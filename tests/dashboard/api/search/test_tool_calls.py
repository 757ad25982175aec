"""The list of tool calls of a project."""

import pytest

from recorder.models import ToolCall
from tests.support import build
from tests.support.small_loop import Loop


@pytest.fixture
def recorded(feed):
    """Record a session with three calls, of which one failed, and an older one with an open call."""
    old, works = "waits.a.1", Loop("works")
    feed(build.agent_start(old), build.turn_start(old), build.tool_start(old, "t", "edit"))
    feed(works.start(), works.turn())
    for name, tool in (("a", "bash"), ("b", "read"), ("c", "bash")):
        feed(works.tool(name, tool), works.tool_end(name, "Done.") | {"is_error": name == "b"})


@pytest.mark.usefixtures("recorded")
def test_tool_calls_are_listed_newest_first_page_by_page(get):
    first = get("tool-calls", limit=3)
    rest = get("tool-calls", limit=3, cursor=first["next"])
    assert [item["tool_call_id"] for item in first["items"]] == ["c", "b", "a"]
    assert [item["tool_call_id"] for item in rest["items"]] == ["t"]
    assert (first["total"], rest["next"]) == (4, None)


@pytest.mark.usefixtures("recorded")
def test_an_item_names_its_session_loop_turn_and_page(get, admin_client):
    item = get("tool-calls", q="tool.error:true")["items"][0]
    call = ToolCall.objects.get(tool_call_id="b")
    assert (item["tool_name"], item["state"]) == ("read", "failed")
    assert (item["id"], item["loop"], item["turn"]) == (call.pk, call.loop_id, call.turn_id)
    assert item["session"]["session_id"] == "works"
    assert admin_client.get(item["session"]["url"]).status_code == 200
    page = admin_client.get(item["url"], follow=True)
    assert f'id="session-tool-{call.pk}"' in page.content.decode()


@pytest.mark.usefixtures("recorded")
def test_states_are_those_of_queries(get, settings):
    settings.LOOPSCOPE_STALE_S = 3_600
    for word in ("completed", "failed", "stale"):
        found = get("tool-calls", q=f"status:{word}")["items"]
        assert {item["state"] for item in found} == {word}


@pytest.mark.usefixtures("recorded")
def test_parameters_select_a_session_and_a_loop(get):
    assert get("tool-calls", session_id="works")["total"] == 3
    assert get("tool-calls", session_id="works", q="tool:bash")["total"] == 2
    assert get("tool-calls", loop_id="waits.a.1")["total"] == 1
