"""The sub-agents that the calls of one task spawned: each is linked to its call once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, text_field
from recorder.core.formats.transcripts.codex.heads import Thread
from recorder.core.formats.transcripts.fields import forget_first, loop_id
from recorder.core.formats.transcripts.open_loop import OpenLoop
from recorder.core.records import Json

LINKED_MAX = 1_000  # calls of a task whose sub-agents are known


class SpawnedAgents:
    """Links the calls of one task, and knows which are linked."""

    def __init__(self, linked: Iterable[str] = ()) -> None:
        self._linked = dict.fromkeys(linked)

    def dump(self) -> Json:
        return cast("Json", list(self._linked))

    def of_item(self, loop: OpenLoop | None, item: Fields) -> list[Fields]:
        """Link the sub-agent that an item names beside the result of its call, before it or in its place."""
        call = text_field(item, "call_id") or text_field(item, "id")
        name = loop.tool_name(call) if loop is not None else ""
        receivers = item.get("receiver_thread_ids")
        threads = receivers if isinstance(receivers, list) else [item.get("new_thread_id")]
        return self.link(loop, call, name, threads[0] if threads else "")

    def link(self, loop: OpenLoop | None, call: str, name: str, child: Json) -> list[Fields]:
        """Link a sub-agent to a call of this name; nothing if the call is linked, or spawns none."""
        if loop is None or not name.endswith("spawn_agent") or not is_id(child) or call in self._linked:
            return []
        self._linked[call] = None
        forget_first(self._linked, LINKED_MAX)
        return [loop.link(call, name, loop_id(loop.session_id, child))]


def caller_of(thread: Thread, attribution: Fields) -> str:
    """Return the loop that started a task of a sub-agent; "" if it is not known.

    That of another sub-agent is the first one of its thread, which has the name of the thread.
    """
    if thread.parent and thread.parent != thread.session:
        return loop_id(thread.session, thread.parent)
    task = text_field(attribution, "parent_turn_id") if thread.parent else ""
    return loop_id(thread.session, task) if task else ""
