"""The ids for which State must be loaded before lines are fed, read from the lines themselves.

Each arm of `_KeyCollector.add` names the ids by which the handler of that event asks State (`LOOKUPS`). An
id too many costs a query's time, a missing one costs correctness: the recorder would create a record that
exists. Cost: two set insertions for most lines; answers are examined once per model and loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from recorder.core.content import messages
from recorder.core.context import JournalLine
from recorder.core.costs import billing
from recorder.core.events import (
    AgentStart,
    Event,
    LoopWithdrawn,
    SubAgentLinked,
    TurnEnd,
    UsageReported,
)
from recorder.core.events.fields import is_id
from recorder.core.handlers.lineage import session_id_of, spawned_by
from recorder.core.handlers.model_configs import config_key, inferred_snapshot, snapshot_of_answer
from recorder.core.lookups import StateKeys
from recorder.core.money.prices import PriceKey
from recorder.core.records import Json

# Events that name nothing but their loop: most lines.
_LOOP_ONLY = frozenset(("MessageUpdate", "MessageStart", "MessageEnd", "ToolExecutionStart", "TurnStart"))


def state_keys_of(lines: Iterable[JournalLine]) -> StateKeys:
    """Return the keys that must be loaded before `lines` are fed, in any portions."""
    keys = _KeyCollector()
    for line in lines:
        fields = line.event.__dict__  # many events have no session, some no loop
        if loop_id := fields.get("loop_id"):
            keys.line_loop_ids.add(loop_id)
        if fields["type"] not in _LOOP_ONLY:
            keys.add(line.event, fields.get("session_id"))
    keys.loop_ids |= keys.line_loop_ids
    return StateKeys(
        session_ids=frozenset(keys.session_ids),
        orphan_session_ids=frozenset(map(session_id_of, keys.line_loop_ids)),
        loop_ids=frozenset(keys.loop_ids),
        starting_loop_ids=frozenset(keys.starting_loop_ids),
        starting_session_ids=frozenset(keys.starting_session_ids),
        shrinking_session_ids=frozenset(keys.shrinking_session_ids),
        reopening_loop_ids=frozenset(keys.reopening_loop_ids),
        late_usage_loop_ids=frozenset(keys.late_usage_loop_ids),
        linked_loop_ids=frozenset(keys.linked_loop_ids),
        config_keys=frozenset(keys.config_keys),
        price_keys=frozenset(keys.price_keys),
    )


@dataclass(slots=True)
class _KeyCollector:
    session_ids: set[str] = field(default_factory=set)
    line_loop_ids: set[str] = field(default_factory=set)  # those that lines belong to
    loop_ids: set[str] = field(default_factory=set)
    starting_loop_ids: set[str] = field(default_factory=set)
    starting_session_ids: set[str] = field(default_factory=set)
    shrinking_session_ids: set[str] = field(default_factory=set)
    reopening_loop_ids: set[str] = field(default_factory=set)
    late_usage_loop_ids: set[str] = field(default_factory=set)
    linked_loop_ids: set[str] = field(default_factory=set)
    config_keys: set[str] = field(default_factory=set)
    price_keys: set[PriceKey] = field(default_factory=set)
    answers: set[tuple[str, str, str]] = field(default_factory=set)  # model, provider and loop id

    def add(self, event: Event, session_id: str | None) -> None:  # noqa: C901  one arm an event
        """Add the ids that the handler of `event` asks for, apart from its own loop."""
        self._add_session(session_id)
        match event.type:
            case "AgentStart":
                self._add_start(event)
            case "TurnEnd" | "UsageReported":
                self._add_answer(event)
            case "AgentEnd":
                answers = (m for m in messages.iter_messages(event.messages) if messages.answer_of(m))
                self._add_inferred_config(next(answers, None), event.loop_id)
            case "ToolExecutionEnd":
                child = event.result.get("child_loop_id") if isinstance(event.result, dict) else None
                if is_id(child):
                    self._add_loop(child)
                    self._add_session(session_id_of(child))
                    self._add_linked(child)
            case "ParallelLoopStart":
                self.loop_ids.update(event.loop_ids)
            case "ParallelLoopEnd":
                self._add_loop(event.selected_loop_id)
            case "SessionInfo" if isinstance(event.parent_spawn_ref, dict):
                self._add_loop(messages.text_field(event.parent_spawn_ref, "parent_loop_id"))
            case "SubAgentLinked":
                self._add_link(event)
            case "LoopWithdrawn":
                self._add_withdrawal(event)
            case "LoopReopened":
                self.reopening_loop_ids.add(event.loop_id)
            case _:
                pass

    def _add_answer(self, event: TurnEnd | UsageReported) -> None:
        self._add_inferred_config(event.message, event.loop_id)
        if event.type == "UsageReported" and event.is_late:
            self.reopening_loop_ids.add(event.loop_id)
            self.late_usage_loop_ids.add(event.loop_id)

    def _add_link(self, event: SubAgentLinked) -> None:
        self._add_loop(event.parent_loop_id)
        self._add_loop(event.child_loop_id)
        self._add_session(event.child_session_id)
        self._add_linked(event.child_loop_id)
        if event.child_loop_id:  # several sub-agents may have it in common, and wait for it
            self.starting_loop_ids.add(event.child_loop_id)

    def _add_start(self, event: AgentStart) -> None:
        self.starting_loop_ids.update(each for each in (event.loop_id, event.adopts) if each)
        self.starting_session_ids.add(event.session_id)
        self._add_loop(event.parent_loop_id)
        if spawned_by(event.metadata) is not None or event.is_sub_agent:
            self._add_linked(event.loop_id)
            self._add_linked(event.parent_loop_id)
        if event.config_snapshot is not None:
            self.config_keys.add(config_key(event.config_snapshot))
            self._add_price(billing.price_key_of_snapshot(event.config_snapshot))

    def _add_withdrawal(self, event: LoopWithdrawn) -> None:
        self._add_session(event.moved_to)
        if event.is_gone:
            self.shrinking_session_ids.add(event.session_id)
        if event.adopts:
            self.starting_loop_ids.add(event.adopts)

    def _add_loop(self, loop_id: str | None) -> None:
        if loop_id:
            self.loop_ids.add(loop_id)

    def _add_linked(self, loop_id: str | None) -> None:
        if loop_id:
            self.linked_loop_ids.add(loop_id)

    def _add_session(self, session_id: str | None) -> None:
        if session_id:
            self.session_ids.add(session_id)

    def _add_inferred_config(self, message: Json, loop_id: str) -> None:
        """Add the config that a loop without one gets from an answer, and the price of that answer."""
        answer = messages.answer_of(message)
        if answer is None or (head := (answer.model, answer.provider, loop_id)) in self.answers:
            return
        self.answers.add(head)
        self.config_keys.add(config_key(inferred_snapshot(answer, loop_id)))
        self.config_keys.add(config_key(snapshot_of_answer(answer.model, answer.provider)))
        self._add_price(billing.price_key_of(answer.model, answer.provider, None))

    def _add_price(self, key: PriceKey | None) -> None:
        if key is not None:
            self.price_keys.add(key)
