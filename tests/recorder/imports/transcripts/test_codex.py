"""Cases of Codex that no capture holds: results of older releases, failed tasks."""

import pytest

pytestmark = pytest.mark.django_db(transaction=True)


def codex(*payloads, **meta):
    head = {"id": "thread", "session_id": "thread", "cwd": "/home/dev", "model_provider": "openai", **meta}
    lines = [("session_meta", head), ("event_msg", {"type": "task_started", "turn_id": "t1"}), *payloads]
    return [
        {"timestamp": f"2026-11-22T15:00:{at:02}.000Z", "type": kind, "payload": payload}
        for at, (kind, payload) in enumerate(lines)
    ]


def item(kind, **payload):
    return ("response_item", {"type": kind, **payload})


def codex_call(output):
    return codex(
        item("function_call", name="shell", arguments="{}", call_id="c1"),
        item("function_call_output", call_id="c1", output=output),
        item("message", role="assistant", content=[{"type": "output_text", "text": "Done"}]),
        ("event_msg", {"type": "task_complete", "last_agent_message": "Done"}),
    )


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("Chunk ID: 1\nProcess exited with code 2\nOutput:\nno\n", True),
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nProcess exited with code 2\n", False),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\nno\n", True),
        ('{"output":"no","metadata":{"exit_code":1,"duration_seconds":0.1}}', True),
        ('{"output":"Exit code: 1","metadata":{"exit_code":0}}', False),
        ({"content": "no", "success": False}, True),
        ({"content": "yes", "success": True}, False),
        ("Plan updated, see exit 1", False),
    ],
)
def test_whether_a_command_of_codex_failed(record, output, failed):
    (loop,) = record("codex", codex_call(output))

    assert (loop.tool_calls, loop.errors, loop.outcome) == (1, int(failed), "completed")


def test_a_task_of_codex_that_failed_has_the_error(record):
    error = {"message": "unexpected status 500", "codex_error_info": "other"}
    done = {"type": "task_complete", "last_agent_message": None, "error": error}

    (loop,) = record("codex", codex(("event_msg", done)))

    assert (loop.outcome, loop.turns, loop.error) == ("failed", 1, "unexpected status 500")
