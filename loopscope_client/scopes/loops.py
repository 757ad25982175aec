"""Blocks for a loop of an agent, and for a sub-agent: a loop that a tool call of its parent started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import uuid4

from loopscope_client.never_raise import quiet
from loopscope_client.scopes import messages
from loopscope_client.scopes.base import OpenTurn, Scope, ScoreValue, Sends, error_text, ids, now, outcome_of
from loopscope_client.scopes.compaction import Compaction
from loopscope_client.scopes.messages import Message
from loopscope_client.scopes.model_config import snapshot
from loopscope_client.scopes.tools import Tool
from loopscope_client.scopes.turns import Turn
from loopscope_client.transport.encoding import text_of

_MESSAGE_BYTES = 1 << 20


class Loop(Scope):
    """One loop, from AgentStart to AgentEnd; `client.loop()` returns it.

    An exception in its block ends it as failed, KeyboardInterrupt or asyncio's cancellation as cancelled.
    `id`, `session` and `agent` are its ids, `usage` the sum of its turns' tokens.

    Example::

        with client.loop(agent="cook", model="my-model") as loop:
            loop.user("What can I make of leeks?")
            with loop.turn() as turn:
                turn.answer("Soup.", input=18, output=5)
        print(loop.id, loop.usage["output"])
    """

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
        tags: Sequence[str] | None = None,
        loop_id: str | None = None,
        kind: object = None,
    ) -> None:
        self.client, self.config = client, config
        self.agent, self.session = ids(agent, "agent"), ids(session, str(uuid4()))
        self.id = loop_id or f"{self.session}.{self.agent}.{uuid4().hex[:8]}"
        self.usage = dict.fromkeys(messages.COUNTS, 0)
        self.turn_open: OpenTurn | None = None
        self._title, self._parent, self._metadata = title, parent, metadata
        self._tags = tags
        self._kind = kind or ("Default" if parent else "Initial")
        self._turns = self._message_bytes = 0
        self._prompts: list[Message] = []
        self._messages: list[Message] = []
        self._rejection: str | None = None
        self._error: str | None = None
        self.is_completed = False

    @quiet
    def user(self, content: object) -> None:
        """Record a message of the user: text, or a list of content blocks.

        Inside a turn's block it belongs to that turn, else to the next one.

        Example::

            with client.loop() as loop:
                loop.user("What can I make of leeks?")
                loop.user([{"type": "text", "text": "And potatoes?"}])
        """
        message = messages.user(content)
        if self.turn_open is None:
            self._prompts.append(message)
        else:
            self.message(message)

    def turn(self, trigger: str | None = None) -> Turn:
        """Return a block that records one model call and its tool calls.

        `trigger` is why it runs: `User`, `Continuation` or another name of phi-core; by default `User` when a
        prompt waits, else `Continuation`.

        Example::

            with client.loop() as loop, loop.turn() as turn:
                turn.answer("Soup.", input=18, output=5)
        """
        return Turn(self, self._turns, trigger)

    def tool(self, name: str, args: object = None, *, call: str | None = None) -> Tool:
        """Return a block that records one tool call; inside a turn's block it belongs to that turn.

        `args` is any JSON value, `call` the model's id of the call (default: a random one).

        Example::

            with client.loop() as loop, loop.turn() as turn:
                turn.text("I list the files.")
                with loop.tool("bash", {"command": "ls"}, call="call-1") as tool:
                    tool.result("README.md")
        """
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
        """Return a block that records a sub-agent: a loop in a session of its own, linked in both directions.

        Its tool call in this loop is named `tool`. `task` becomes its first prompt, its last answer the
        tool's result. Without `model`, `provider` and settings it has this loop's config.

        Example::

            with client.loop(agent="chef", model="my-model") as chef, chef.turn():
                with chef.sub_agent("baker", "Bake bread") as baker, baker.turn() as turn:
                    turn.answer("Bread.", input=12, output=2)
        """
        config = snapshot(model, provider, settings)
        return SubAgent(self, self.tool(tool, {"agent": agent, "task": task}), agent, task, session, config)

    def compaction(self, *, messages: int = 0, tokens: int = 0) -> Compaction:
        """Return a block that records a compaction; `messages` and `tokens` count the context before it.

        Example::

            with client.loop() as loop, loop.compaction(messages=40, tokens=9_000) as compaction:
                compaction.done(messages=3, tokens=700, summary="We made soup.")
        """
        return Compaction(self, messages, tokens)

    @quiet
    def reject(self, reason: str) -> None:
        """Record that an input filter refused the input; the loop ends as rejected.

        Example::

            with client.loop() as loop:
                loop.reject("The prompt contains a password")
        """
        self._rejection = text_of(reason)
        self.event("InputRejected", reason=self._rejection)

    @quiet
    def fail(self, message: str) -> None:
        """Mark the loop as failed with a message, where no exception leaves its block.

        Example::

            with client.loop() as loop:
                loop.fail("The model gave no valid answer in 3 attempts")
        """
        self._error = text_of(message)

    @quiet
    def notice(self, text: str, *, kind: str = "note", severity: str = "info") -> None:
        """Record a notice on the loop's page; it changes no record.

        `severity` is `info`, `warning` or `error`; `kind` is a name of your own.

        Example::

            with client.loop() as loop:
                loop.notice("Cache miss", kind="cache", severity="warning")
        """
        self.event("Notice", kind=kind, severity=severity, text=text_of(text), timestamp=now())

    @quiet
    def score(self, name: str, value: ScoreValue, comment: str | None = None) -> None:
        """Give a score to this loop, also after its end; giving it again changes it, see `Client.score`.

        Example::

            with client.loop(agent="cook", model="my-model") as loop:
                loop.user("What can I make of leeks?")
            loop.score("quality", 4, "Short and right.")
        """
        self.client.score(self.session, name, value, comment, loop=self.id)

    @quiet
    def event(self, /, type: str, **fields: object) -> None:
        """Record any other event of `docs/reference/events.md`; `loop_id` is added.

        Example::

            with client.loop() as loop:
                loop.event("Notice", kind="note", text="Checkpoint reached")
        """
        self.client.send({"type": type, "loop_id": self.id, **fields})

    @quiet
    def message(self, message: Message) -> None:
        """Record a complete message in phi-core's form that was not streamed.

        Example::

            with client.loop() as loop:
                loop.message({"role": "user", "content": [{"type": "text", "text": "Hi"}]})
        """
        self.event("MessageStart", message=message)
        self.message_ended(message)

    @quiet
    def message_ended(self, message: Message) -> None:
        """Record the end of a message and keep it for the loop's end; turns call it."""
        self.event("MessageEnd", message=message)
        self._message_bytes += sum(len(text_of(block)) for block in messages.blocks(message.get("content")))
        if self._message_bytes > _MESSAGE_BYTES:  # the end of a long loop repeats its last message only
            self._messages.clear()
        self._messages.append(message)

    @quiet
    def turn_began(self, turn: OpenTurn, trigger: str | None) -> None:
        """Record the start of a turn and, in it, the prompts that wait; turns call it."""
        self.turn_open, prompts = turn, self._prompts
        self._prompts = []
        triggered_by = trigger or ("User" if prompts else "Continuation")
        self.event("TurnStart", turn_index=self._turns, timestamp=now(), triggered_by=triggered_by)
        self._turns += 1
        for prompt in prompts:
            self.message(prompt)

    @quiet
    def turn_ended(self, usage: Mapping[str, int]) -> None:
        """Add the usage of a turn that ended; turns call it."""
        self.turn_open = None
        messages.add(self.usage, usage)

    @property
    def answered(self) -> str:
        """Text of the last answer, empty when there is none.

        Example::

            with client.loop() as loop, loop.turn() as turn:
                turn.answer("Soup.")
            assert loop.answered == "Soup."
        """
        return messages.last_answer(self._messages)

    @property
    def is_failed(self) -> bool:
        """Return whether `fail` or `reject` was called.

        Example::

            with client.loop() as loop:
                loop.fail("No answer")
            assert loop.is_failed
        """
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
            "source": "client",
        }
        optional = {"config_snapshot": self.config, "title": text_of(self._title) if self._title else None}
        self.client.send(start | {name: value for name, value in optional.items() if value is not None})
        if self._tags is not None:
            self.event("SessionInfo", session_id=self.session, timestamp=now(), tags=self._tags)

    def _end(self, error: BaseException | None) -> None:
        for prompt in self._prompts:
            self.message(prompt)
        end: dict[str, object] = {"messages": self._messages, "usage": self.usage, "timestamp": now()}
        problem = error_text(error) if error is not None else self._error
        if self._rejection is not None and error is None:
            end["rejection"] = self._rejection
        elif problem is not None:
            end |= {"outcome": "failed" if error is None else outcome_of(error), "error": problem}
        self.is_completed = error is None and not self.is_failed
        self.event("AgentEnd", **end)


class SubAgent(Loop):
    """The loop of a sub-agent; `loop.sub_agent()` returns it.

    It starts and ends with its tool call in the parent loop; an exception in its block fails both.

    Example::

        with client.loop(agent="chef") as chef:
            with chef.sub_agent("baker", "Bake bread", model="small") as baker, baker.turn() as turn:
                turn.answer("Bread.")
    """

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
