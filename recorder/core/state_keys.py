"""What a Memory must hold before lines are fed, read off the lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from recorder.core.content import messages
from recorder.core.context import Line
from recorder.core.events import (
    AgentStart,
    Event,
)
from recorder.core.events.fields import is_id
from recorder.core.handlers.lineage import session_id_of
from recorder.core.handlers.model_configs import config_key, inferred_snapshot
from recorder.core.money import billing
from recorder.core.money.prices import PriceKey
from recorder.core.records import Json
from recorder.core.state import StateKeys

# Most events: they name nothing but their loop.
_PLAIN = frozenset(("MessageUpdate", "MessageStart", "MessageEnd", "ToolExecutionStart", "TurnStart"))


def state_keys_of(lines: Iterable[Line]) -> StateKeys:
    """Say what to load before feeding `lines` in one go."""
    asked = _KeyCollector()
    for line in lines:
        fields = line.event.__dict__  # many events have no session, some no loop
        if loop_id := fields.get("loop_id"):
            asked.own_ids.add(loop_id)
        if fields["type"] not in _PLAIN:
            asked.read(line.event, fields.get("session_id"))
    asked.loop_ids |= asked.own_ids
    return StateKeys(
        session_ids=frozenset(asked.session_ids),
        orphan_session_ids=frozenset(map(session_id_of, asked.own_ids)),
        loop_ids=frozenset(asked.loop_ids),
        starting_loop_ids=frozenset(asked.starting_loop_ids),
        starting_session_ids=frozenset(asked.starting_session_ids),
        config_keys=frozenset(asked.config_keys),
        price_keys=frozenset(asked.price_keys),
    )


@dataclass(slots=True)
class _KeyCollector:
    session_ids: set[str] = field(default_factory=set)
    own_ids: set[str] = field(default_factory=set)
    loop_ids: set[str] = field(default_factory=set)
    starting_loop_ids: set[str] = field(default_factory=set)
    starting_session_ids: set[str] = field(default_factory=set)
    config_keys: set[str] = field(default_factory=set)
    price_keys: set[PriceKey] = field(default_factory=set)
    answered: set[tuple[str, str, str]] = field(default_factory=set)

    def read(self, event: Event, session_id: str | None) -> None:
        self._session(session_id)
        match event.type:
            case "AgentStart":
                self._start(event)
            case "TurnEnd":
                self._config(event.message, event.loop_id)
            case "AgentEnd":
                answers = (m for m in messages.iter_messages(event.messages) if messages.answer_of(m))
                self._config(next(answers, None), event.loop_id)
            case "ToolExecutionEnd":
                child = event.result.get("child_loop_id") if isinstance(event.result, dict) else None
                if is_id(child):
                    self._loop(child)
                    self._session(session_id_of(child))
            case "ParallelLoopStart":
                self.loop_ids.update(event.loop_ids)
            case "ParallelLoopEnd":
                self._loop(event.selected_loop_id)
            case "SessionInfo" if isinstance(event.parent_spawn_ref, dict):
                self._loop(messages.text_field(event.parent_spawn_ref, "parent_loop_id"))
            case "SubAgentLinked":
                self._loop(event.parent_loop_id)
                self._loop(event.child_loop_id)
                self._session(event.child_session_id)
            case _:
                pass

    def _start(self, event: AgentStart) -> None:
        self.starting_loop_ids.update(each for each in (event.loop_id, event.adopts) if each)
        self.starting_session_ids.add(event.session_id)
        self._loop(event.parent_loop_id)
        if event.config_snapshot is not None:
            self.config_keys.add(config_key(event.config_snapshot))
            self._priced(billing.price_key_of_snapshot(event.config_snapshot))

    def _loop(self, loop_id: str | None) -> None:
        if loop_id:
            self.loop_ids.add(loop_id)

    def _session(self, session_id: str | None) -> None:
        if session_id:
            self.session_ids.add(session_id)

    def _config(self, message: Json, loop_id: str) -> None:
        answer = messages.answer_of(message)
        if answer is not None and (told := (answer.model, answer.provider, loop_id)) not in self.answered:
            self.answered.add(told)
            self.config_keys.add(config_key(inferred_snapshot(answer, loop_id)))
            self._priced(billing.price_key_of(answer.model, answer.provider, None))

    def _priced(self, pair: PriceKey | None) -> None:
        if pair is not None:
            self.price_keys.add(pair)
