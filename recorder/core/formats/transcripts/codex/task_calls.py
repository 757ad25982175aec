"""What events beside the calls of one task say of them: which agent one spawned, and that one failed."""

from __future__ import annotations

from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, object_field, text_field
from recorder.core.formats.transcripts.codex.heads import Thread
from recorder.core.formats.transcripts.fields import forget_first, loop_id
from recorder.core.formats.transcripts.open_loop import OpenLoop
from recorder.core.records import Json

LINKED_MAX = 1_000  # calls of a task whose sub-agents are known
FAILED_MAX = 200  # calls of a task whose results have not come
_SPAWNED = ("item_completed", "collab_agent_spawn_end", "sub_agent_activity")  # may name the agent of a call
_ENDED = ("mcp_tool_call_end", "patch_apply_end", "exec_command_end", "dynamic_tool_call_response")
EVENTS = frozenset((*_SPAWNED, *_ENDED))


class TaskCalls:
    """Links each call of one task to its sub-agent once, and knows which ones failed."""

    def __init__(self, stored: Fields | None = None) -> None:
        tables = stored or {}
        self._linked = dict.fromkeys(cast("list[str]", tables.get("linked") or []))
        self._failed = dict.fromkeys(cast("list[str]", tables.get("failed") or []))

    def dump(self) -> Fields:
        """Return the state as JSON. Its names never change."""
        return {"linked": cast("Json", list(self._linked)), "failed": cast("Json", list(self._failed))}

    def read(self, loop: OpenLoop | None, name: str, payload: Fields) -> list[Fields]:
        """Read an event beside the result of a call, before it or in its place."""
        if name in _ENDED:
            if _states_failure(payload):
                self._failed[text_field(payload, "call_id")] = None
                forget_first(self._failed, FAILED_MAX)
            return []
        item = object_field(payload, "item") or payload
        call = next(filter(None, (text_field(item, each) for each in ("call_id", "event_id", "id"))), "")
        tool = loop.tool_name(call) if loop is not None else ""
        receivers = item.get("receiver_thread_ids")
        own = item.get("new_thread_id") or item.get("agent_thread_id")
        threads = receivers if isinstance(receivers, list) else [own]
        return self.link(loop, call, tool, threads[0] if threads else "")

    def takes_failure(self, call: str) -> bool:
        """Return whether an event stated that a call, whose result has come, failed."""
        has_failed = call in self._failed
        self._failed.pop(call, None)
        return has_failed

    def link(self, loop: OpenLoop | None, call: str, name: str, child: Json) -> list[Fields]:
        """Link a sub-agent to a call of this name; nothing if the call is linked, or spawns none."""
        if loop is None or not name.endswith("spawn_agent") or not is_id(child) or call in self._linked:
            return []
        self._linked[call] = None
        forget_first(self._linked, LINKED_MAX)
        return [loop.link(call, name, loop_id(loop.session_id, child))]


def _states_failure(payload: Fields) -> bool:
    """Return whether an event says that its call ran and failed: by success, exit code or result."""
    if payload.get("status") == "declined":
        return False
    result = object_field(payload, "result")
    answer = object_field(result, "Ok")
    is_error = "Err" in result or True in (answer.get("isError"), answer.get("is_error"))
    return is_error or payload.get("success") is False or payload.get("exit_code") not in (None, 0)


def caller_of(thread: Thread, attribution: Fields) -> str:
    """Return the loop that started a task of a sub-agent; "" if it is not known.

    That of another sub-agent is the first one of its thread, which has the name of the thread.
    """
    if thread.parent and thread.parent != thread.session:
        return loop_id(thread.session, thread.parent)
    task = text_field(attribution, "parent_turn_id") if thread.parent else ""
    return loop_id(thread.session, task) if task else ""
