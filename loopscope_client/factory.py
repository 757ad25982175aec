"""The methods that `Client` and `AsyncClient` share: open a loop, open a parallel group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import uuid4

from loopscope_client.never_raise import Done
from loopscope_client.scopes.base import ScoreValue
from loopscope_client.scopes.groups import Group
from loopscope_client.scopes.loops import Loop
from loopscope_client.scopes.model_config import snapshot


class ScopeFactory:
    """Opens the outermost blocks of a client: loops and parallel groups."""

    def send(self, event: Mapping[str, object]) -> Done:
        """Record one event, see `Client.send`.

        Example::

            client.send({"type": "Notice", "session_id": "chat", "kind": "note", "text": "Hi"})
        """
        raise NotImplementedError

    def score(
        self,
        session_id: str,
        name: str,
        value: ScoreValue,
        comment: str | None = None,
        *,
        loop: str | None = None,
        turn: int | None = None,
        id: str | None = None,
    ) -> Done:
        """Give a score to a session, see `Client.score`.

        Example::

            client.score("chat", "quality", 4)
        """
        raise NotImplementedError

    def loop(
        self,
        agent: str = "agent",
        model: str | None = None,
        provider: str | None = None,
        session: str | None = None,
        *,
        title: str | None = None,
        parent: str | None = None,
        metadata: object = None,
        tags: Sequence[str] | None = None,
        **settings: object,
    ) -> Loop:
        """Return a block that records one loop of an agent; use it with `with` or `async with`.

        `session` is the id that joins several loops; without it the loop has a session of its own. `parent`
        is the id of the loop that this one continues. `settings` such as `temperature` or `thinking_level`
        become part of the model config. Ids are cut to 200 bytes. Never raises.

        `metadata` is any JSON value; sessions are found by the names and values of an object. `tags` are
        texts, and replace the tags that the session had; None leaves them.

        Example::

            with client.loop(agent="cook", model="my-model", session="chat", temperature=0.2) as first:
                first.user("What can I make of leeks?")
            with client.loop(session="chat", metadata={"ticket": "A-1"}, tags=["nightly"]) as tagged:
                tagged.user("Once more.")
            with client.loop(agent="cook", session="chat", parent=first.id) as second:
                second.user("And without cream?")
        """
        return Loop(
            self,
            agent=agent,
            session=session or str(uuid4()),
            config=snapshot(model, provider, settings),
            title=title,
            parent=parent,
            metadata=metadata,
            tags=tags,
        )

    def parallel(
        self, configs: Sequence[Mapping[str, object]], agent: str = "agent", session: str | None = None
    ) -> Group:
        """Return a block that records a parallel group: one branch per config, all on the same task.

        A config is a mapping with `model`, `provider` and settings. The branches share the session. Without
        `select` the first branch that completed is selected. Raises TypeError or AttributeError when
        `configs` is not a sequence of mappings.

        Example::

            with client.parallel([{"model": "small"}, {"model": "large"}], agent="writer") as group:
                for branch in group:
                    with branch as loop, loop.turn() as turn:
                        turn.answer("An essay.", input=10, output=3)
                group.select(1)
        """
        return Group(self, configs, agent, session or str(uuid4()))
