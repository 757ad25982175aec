"""A sub-agent: a loop in a session of its own that is a tool of the loop above it."""

from __future__ import annotations

from uuid import uuid4

from loopscope_client.loops import Loop
from loopscope_client.scopes import ids, now
from loopscope_client.tools import Tool


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
