"""Stored states of format readers: names in the JSON stay as the first release wrote them."""

from datetime import UTC, datetime

import pytest

from recorder.core.formats.registry import READERS

AT = datetime(2026, 11, 2, 9, tzinfo=UTC)
STREAM = {"type": "stream_started", "session_id": "s", "agent_name": "root"}
QUESTION = {"type": "max_iterations_reached", "max_iterations": 9}
TASK = {"session_id": "s", "event_type": "task_start", "data": {"task_id": "t", "description": "Do it"}}
CALL = {
    "session_id": "s",
    "event_type": "tool_call",
    "data": {"tool_call_id": "c", "name": "bash", "arguments": {}},
}
ROW = {
    "table": "session_items",
    "session_id": "s",
    "item_type": "message",
    "message": {"role": "user", "content": "Hi"},
}
STREAM_NAMES = (
    "session_id loop_id agent model turns in_turn is_writing is_whole text thinking calls running asked "
    "results usage cost answered_by turn_model total answer waits context compaction summary error "
    "hit_limit is_pass compaction_at"
)
NAMES = {
    "cagent": "streams at models team strangers prompts notices begun costs last_compaction",
    "cagent-db": "stream sessions",
    "aidaemon": "tasks current last prompts spawns calls cursor",
}
LINES = {"cagent": [STREAM, QUESTION], "cagent-db": [ROW], "aidaemon": [TASK, CALL]}


def reader(form, state=None):
    return READERS[form](state, "key", lambda _session: 1)


@pytest.mark.parametrize("form", NAMES)
def test_a_state_has_the_stored_names_and_loads_again(form):
    first = reader(form)
    for line in LINES[form]:
        first.read(line, AT)

    assert list(first.state) == NAMES[form].split()
    assert reader(form, first.state).state == first.state


def test_a_state_without_the_names_of_later_releases_loads():
    first = reader("cagent")
    for line in LINES["cagent"]:
        first.read(line, AT)
    old = {name: value for name, value in first.state.items() if name in NAMES["cagent"].split()[:8]}
    old["streams"] = [{name: stream[name] for name in STREAM_NAMES.split()[:-1]} for stream in old["streams"]]
    assert reader("cagent", old).state == first.state


def test_open_streams_sessions_and_tasks_have_the_stored_names():
    states = {}
    for form, lines in LINES.items():
        one = reader(form)
        for line in lines:
            one.read(line, AT)
        states[form] = one.state

    (stream,) = states["cagent"]["streams"]
    assert list(stream) == STREAM_NAMES.split()
    assert stream["waits"] == [["max_iterations", "limit"]]
    assert list(states["cagent-db"]["sessions"]["s"]) == "is_open prompts calls began cost at".split()
    assert list(states["aidaemon"]["tasks"]["t"]) == "session_id loop_id turn answer usage said total".split()
    assert states["aidaemon"]["spawns"][0]["call_id"] == "c"
