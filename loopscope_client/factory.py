"""Opens the outermost blocks of an agent: what `Client` and `AsyncClient` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import uuid4

from loopscope_client.never_raise import Done
from loopscope_client.scopes.groups import Group
from loopscope_client.scopes.loops import Loop, snapshot


class ScopeFactory:
    """Opens the outermost blocks of a client: loops and parallel groups."""

    def send(self, event: Mapping[str, object]) -> Done:
        """Record one event."""
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
        **settings: object,
    ) -> Loop:
        """Record one loop of an agent; `parent` is the id of the loop that it continues.

        `settings` are what else the model was told, such as `temperature` or `thinking_level`.
        """
        return Loop(
            self,
            agent=agent,
            session=session or str(uuid4()),
            config=snapshot(model, provider, settings),
            title=title,
            parent=parent,
            metadata=metadata,
        )

    def parallel(
        self, configs: Sequence[Mapping[str, object]], agent: str = "agent", session: str | None = None
    ) -> Group:
        """Record several loops at the same task, one a config, of which one is selected."""
        return Group(self, configs, agent, session or str(uuid4()))
