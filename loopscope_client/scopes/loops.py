"""A loop of an agent: prompts, turns, tools, compactions, its end; and a sub-agent, which is a loop too."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

from loopscope_client.never_raise import quiet
from loopscope_client.scopes import messages
from loopscope_client.scopes.base import OpenTurn, Scope, Sends, ids, now, outcome_of, told
from loopscope_client.scopes.compaction import Compaction
from loopscope_client.scopes.messages import Message
from loopscope_client.scopes.tools import Tool
from loopscope_client.scopes.turns import Turn
from loopscope_client.transport.encoding import text_of

_KEPT_BYTES = 1 << 20


class Loop(Scope):
    """One loop, from AgentStart to AgentEnd; an exception in its block ends it as failed."""

    def __init__(
        self,
        client: Sends,
        *,
        agent: str,
        session: str,
        config: dict[str, object] | None,
        title: str | None = None,
        parent: str | None = None,
        metadata: object = None,
        loop_id: str | None = None,
        kind: object = None,
    ) -> None:
        self.client, self.config = client, config
        self.agent, self.session = ids(agent, "agent"), ids(session, str(uuid4()))
        self.id = loop_id or f"{self.session}.{self.agent}.{uuid4().hex[:8]}"
        self.usage = dict.fromkeys(messages.COUNTS, 0)
        self.turn_open: OpenTurn | None = None
        self._title, self._parent, self._metadata = title, parent, metadata
        self._kind = kind or ("Default" if parent else "Initial")
        self._turns = self._kept = 0
        self._prompts: list[Message] = []
        self._said: list[Message] = []
        self._rejection: str | None = None
        self._error: str | None = None
        self.is_completed = False

    @quiet
    def user(self, content: object) -> None:
        """A person said something: text, or a list of content blocks."""
        message = messages.user(content)
        if self.turn_open is None:
            self._prompts.append(message)
        else:
            self.message(message)

    def turn(self, trigger: str | None = None) -> Turn:
        """Record one model call and the tools it asks for."""
        return Turn(self, self._turns, trigger)

    def tool(self, name: str, args: object = None, *, call: str | None = None) -> Tool:
        """Record a tool at work; inside a turn's block it belongs to that turn."""
        return Tool(self, name, args, call)

    def sub_agent(
        self,
        agent: str = "sub-agent",
        task: object = None,
        *,
        model: str | None = None,
        provider: str | None = None,
        session: str | None = None,
        tool: str = "sub_agent",
        **settings: object,
    ) -> SubAgent:
        """Record another agent that this one calls as a tool; it has a session of its own."""
        config = snapshot(model, provider, settings)
        return SubAgent(self, self.tool(tool, {"agent": agent, "task": task}), agent, task, session, config)

    def compaction(self, *, messages: int = 0, tokens: int = 0) -> Compaction:
        """Record that the context is being shortened; `messages` and `tokens` are what it holds before."""
        return Compaction(self, messages, tokens)

    @quiet
    def reject(self, reason: str) -> None:
        """An input was refused; the loop will end as rejected."""
        self._rejection = text_of(reason)
        self.event("InputRejected", reason=self._rejection)

    @quiet
    def fail(self, message: str) -> None:
        """The loop failed without an exception."""
        self._error = text_of(message)

    @quiet
    def notice(self, text: str, *, kind: str = "note", severity: str = "info") -> None:
        """Something worth knowing that changes nothing."""
        self.event("Notice", kind=kind, severity=severity, text=text_of(text), timestamp=now())

    @quiet
    def event(self, /, type: str, **fields: object) -> None:
        """Record any other event of this loop."""
        self.client.send({"type": type, "loop_id": self.id, **fields})

    @quiet
    def message(self, message: Message) -> None:
        """Record a whole message that was not streamed."""
        self.event("MessageStart", message=message)
        self.said(message)

    @quiet
    def said(self, message: Message) -> None:
        """A message is whole."""
        self.event("MessageEnd", message=message)
        self._kept += sum(len(text_of(block)) for block in messages.blocks(message.get("content")))
        if self._kept > _KEPT_BYTES:  # the end of a long loop repeats its last message only
            self._said.clear()
        self._said.append(message)

    @quiet
    def turn_began(self, turn: OpenTurn, trigger: str | None) -> None:
        """A turn opened: the prompts that wait belong to it."""
        self.turn_open, prompts = turn, self._prompts
        self._prompts = []
        asked = trigger or ("User" if prompts else "Continuation")
        self.event("TurnStart", turn_index=self._turns, timestamp=now(), triggered_by=asked)
        self._turns += 1
        for prompt in prompts:
            self.message(prompt)

    @quiet
    def turn_ended(self, usage: Mapping[str, int]) -> None:
        self.turn_open = None
        messages.add(self.usage, usage)

    @property
    def answered(self) -> str:
        """The text of the last answer."""
        said = [message for message in self._said if message.get("role") == "assistant"]
        content = messages.blocks(said[-1].get("content")) if said else []
        return "\n".join(text_of(block.get("text")) for block in content if block.get("type") == "text")

    @property
    def is_failed(self) -> bool:
        return self._error is not None or self._rejection is not None

    def _begin(self) -> None:
        start = {
            "type": "AgentStart",
            "agent_id": self.agent,
            "session_id": self.session,
            "loop_id": self.id,
            "parent_loop_id": self._parent,
            "continuation_kind": self._kind,
            "timestamp": now(),
            "metadata": self._metadata,
        }
        given = {"config_snapshot": self.config, "title": text_of(self._title) if self._title else None}
        self.client.send(start | {name: value for name, value in given.items() if value is not None})

    def _end(self, error: BaseException | None) -> None:
        for prompt in self._prompts:
            self.message(prompt)
        end: dict[str, object] = {"messages": self._said, "usage": self.usage, "timestamp": now()}
        problem = told(error) if error is not None else self._error
        if self._rejection is not None and error is None:
            end["rejection"] = self._rejection
        elif problem is not None:
            end |= {"outcome": "failed" if error is None else outcome_of(error), "error": problem}
        self.is_completed = error is None and not self.is_failed
        self.event("AgentEnd", **end)


class SubAgent(Loop):
    """A loop that its parent's tool call names, and that names its parent."""

    def __init__(
        self,
        parent: Loop,
        tool: Tool,
        agent: str,
        task: object,
        session: str | None,
        config: dict[str, object] | None,
    ) -> None:
        super().__init__(
            parent.client,
            agent=agent,
            session=ids(session, str(uuid4())),
            config=config if config is not None else parent.config,
            parent=parent.id,
            kind="Initial",
        )
        self._above, self._tool, self._task = parent, tool, task

    def _begin(self) -> None:
        self._tool.__enter__()
        super()._begin()
        self.client.send(
            {
                "type": "SubAgentLinked",
                "parent_session_id": self._above.session,
                "parent_loop_id": self._above.id,
                "tool_call_id": self._tool.call,
                "tool_name": self._tool.name,
                "child_session_id": self.session,
                "child_loop_id": self.id,
                "certainty": "stated",
                "timestamp": now(),
            }
        )
        if self._task is not None:
            self.user(self._task)

    def _end(self, error: BaseException | None) -> None:
        super()._end(error)
        if error is None:
            self._tool.result(self.answered, is_error=self.is_failed)
        self._tool.__exit__(None if error is None else type(error), error, None)


def snapshot(
    model: str | None, provider: str | None, settings: Mapping[str, object]
) -> dict[str, object] | None:
    """Return the config of a loop, None when nothing of it is known."""
    if model is None and provider is None and not settings:
        return None
    named = {"model": text_of(model or "unknown"), "provider": text_of(provider or "unknown")}
    return {
        **named,
        "config_id": None,
        **{name: value for name, value in settings.items() if value is not None},
    }
