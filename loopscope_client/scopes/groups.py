"""A parallel group: branches at the same task, a judge, the one that was selected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import uuid4

from loopscope_client.never_raise import quiet
from loopscope_client.scopes import messages
from loopscope_client.scopes.base import Scope, Sends, ids, now
from loopscope_client.scopes.loops import Loop, snapshot


class Group(Scope):
    """Several loops at the same task. Without `select` the first that completed is selected."""

    def __init__(
        self, client: Sends, configs: Sequence[Mapping[str, object]], agent: str, session: str
    ) -> None:
        self.session = ids(session, str(uuid4()))
        self._client, self._agent = client, agent
        tag = now()
        name, round_ = ids(agent, "agent"), uuid4().hex[:8]
        self.branches = [
            Loop(
                client,
                agent=agent,
                session=self.session,
                config=_config(config),
                loop_id=f"{self.session}.{name}-{round_}.{number}",
                kind={"Branch": {"tag": tag}},
            )
            for number, config in enumerate(configs, 1)
        ]
        self._judge: Loop | None = None
        self._selected: int | None = None

    def __iter__(self) -> Iterator[Loop]:
        return iter(self.branches)

    def __len__(self) -> int:
        return len(self.branches)

    def judge(self, model: str | None = None, provider: str | None = None, **settings: object) -> Loop:
        """Record the loop that compares the branches; its answer names the number of the best, from 1."""
        self._judge = Loop(
            self._client,
            agent=f"{self._agent}-judge",
            session=self.session,
            config=snapshot(model, provider, settings),
            loop_id=str(uuid4()),
        )
        return self._judge

    @quiet
    def select(self, branch: int | Loop) -> None:
        """Say which branch won: the loop, or its place counted from 0."""
        index = self.branches.index(branch) if isinstance(branch, Loop) else branch
        if 0 <= index < len(self.branches):
            self._selected = index

    def _begin(self) -> None:
        self._client.send(
            {
                "type": "ParallelLoopStart",
                "session_id": self.session,
                "loop_ids": [branch.id for branch in self.branches],
                "timestamp": now(),
            }
        )

    def _end(self, error: BaseException | None) -> None:
        index = self._selected
        if index is None:
            index = next((n for n, branch in enumerate(self.branches) if branch.is_completed), None)
        if index is None:  # no branch came to an end: nothing was selected
            return
        spent = self._judge.usage if self._judge is not None else dict.fromkeys(messages.COUNTS, 0)
        self._client.send(
            {
                "type": "ParallelLoopEnd",
                "session_id": self.session,
                "selected_loop_id": self.branches[index].id,
                "selected_config_index": index,
                "evaluation_usage": spent,
                "timestamp": now(),
            }
        )


def _config(given: Mapping[str, object]) -> dict[str, object] | None:
    settings = {name: value for name, value in given.items() if name not in ("model", "provider")}
    model, provider = given.get("model"), given.get("provider")
    return snapshot(
        model if isinstance(model, str) else None, provider if isinstance(provider, str) else None, settings
    )
