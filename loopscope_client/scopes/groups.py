"""Block for a parallel group: branches on the same task, a judge, the selected branch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import uuid4

from loopscope_client.never_raise import quiet
from loopscope_client.scopes import messages
from loopscope_client.scopes.base import Scope, Sends, ids, now
from loopscope_client.scopes.loops import Loop
from loopscope_client.scopes.model_config import snapshot


class Group(Scope):
    """Several loops on the same task; `client.parallel()` returns it, and iterating it yields its branches.

    Without `select` the first branch that completed is selected; without a completed one, none is.

    Example::

        with client.parallel([{"model": "small"}, {"model": "large"}]) as group:
            for branch in group:
                with branch as loop, loop.turn() as turn:
                    turn.answer("An essay.")
            with group.judge("wise") as judge, judge.turn() as turn:
                turn.answer("2", input=90, output=1)
            group.select(1)
    """

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
        """Return the block of the judge's loop; its answer is the number of the best branch, counted from 1.

        Its usage counts as the group's cost of evaluation.

        Example::

            with client.parallel([{"model": "small"}, {"model": "large"}]) as group:
                for branch in group:
                    with branch:
                        pass
                with group.judge("wise") as judge, judge.turn() as turn:
                    turn.answer("1", input=90, output=1)
        """
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
        """Set the winner: a branch, or its index from 0. An index out of range is ignored.

        Example::

            with client.parallel([{"model": "small"}, {"model": "large"}]) as group:
                group.select(group.branches[1])
        """
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
        if index is None:  # no branch completed: none is selected
            return
        usage = self._judge.usage if self._judge is not None else dict.fromkeys(messages.COUNTS, 0)
        self._client.send(
            {
                "type": "ParallelLoopEnd",
                "session_id": self.session,
                "selected_loop_id": self.branches[index].id,
                "selected_config_index": index,
                "evaluation_usage": usage,
                "timestamp": now(),
            }
        )


def _config(config: Mapping[str, object]) -> dict[str, object] | None:
    settings = {name: value for name, value in config.items() if name not in ("model", "provider")}
    model, provider = config.get("model"), config.get("provider")
    return snapshot(
        model if isinstance(model, str) else None, provider if isinstance(provider, str) else None, settings
    )
