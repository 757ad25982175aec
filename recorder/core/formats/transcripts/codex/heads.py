"""The head of a rollout: the thread, its session and the thread that it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, object_field, text_field
from recorder.core.formats.transcripts.codex.items import about_of
from recorder.core.formats.transcripts.fields import first_valid_id

AGENT = "codex"


@dataclass(frozen=True, slots=True)
class Head:
    """What a head says. A fork has the history of its origin as a copy, or with `has_base` refers to it."""

    thread: str
    session: str
    parent: str  # thread that spawned this one; "": none
    agent: str  # name of a sub-agent; "" without one
    origin: str  # thread that this one was forked from; "": none
    has_base: bool

    @property
    def is_copy(self) -> bool:
        return bool(self.origin) and not self.has_base


def head_of(payload: Fields) -> Head:
    """Read a head; without a valid id its session is ""."""
    spawn = object_field(object_field(object_field(payload, "source"), "subagent"), "thread_spawn")
    thread = text_field(payload, "id")
    parent = text_field(spawn, "parent_thread_id") or text_field(payload, "parent_thread_id")
    session = text_field(payload, "session_id") or parent or thread
    return Head(
        thread,
        session if is_id(session) else "",
        parent,
        first_valid_id(payload.get("agent_nickname"), spawn.get("agent_nickname")),
        text_field(payload, "forked_from_id"),
        bool(payload.get("history_base")),
    )


@dataclass(slots=True)
class Thread:
    """What the head of a rollout says about its thread; "" where it says nothing."""

    session: str = ""
    name: str = ""
    parent: str = ""  # thread that spawned this one
    agent: str = AGENT
    about: Fields = field(default_factory=dict)
    provider: str = ""

    @classmethod
    def load(cls, stored: Fields) -> Thread:
        session, name, parent = (text_field(stored, key) for key in ("session", "thread", "parent"))
        agent, about = text_field(stored, "agent") or AGENT, object_field(stored, "about")
        return cls(session, name, parent, agent, about, text_field(stored, "provider"))

    @classmethod
    def of_head(cls, head: Head, payload: Fields) -> Thread:
        about, provider = about_of(payload), text_field(payload, "model_provider")
        return cls(head.session, head.thread, head.parent, head.agent or AGENT, about, provider)

    def named(self, payload: Fields) -> list[Fields]:
        """Give the session the name of its thread; a sub-agent's is none."""
        title = text_field(payload, "thread_name") if self.name == self.session else ""
        return [{"type": "SessionInfo", "session_id": self.session, "title": title}] if title else []

    def dump(self) -> Fields:
        """Return the state as JSON. Its names never change."""
        return {
            "session": self.session,
            "thread": self.name,
            "parent": self.parent,
            "agent": self.agent,
            "about": self.about,
            "provider": self.provider,
        }
