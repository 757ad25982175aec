"""What is known of aidaemon's sessions and open tasks: a task is a loop, a thinking iteration a turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import cast

from recorder.core.formats.base import COUNTS, Fields, count_field, text_field
from recorder.core.records import Json

AGENT = "aidaemon"
_SPAWNS_KEPT = 50
_KEPT = 1_000  # sessions, and answers without a usage row


@dataclass(slots=True)
class Task:
    """A task that has not ended."""

    session_id: str
    loop_id: str
    turn: int | None = None  # the open one
    answer: Fields | None = None  # of the open turn
    usage: Fields | None = None
    said: str = ""  # the last answer with a text
    total: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))

    def event(self, event_type: str, /, **fields: Json) -> Fields:
        """Return an event of this loop."""
        return {"type": event_type, "loop_id": self.loop_id, **fields}

    def begin_turn(self, index: int, at: str) -> Iterator[Fields]:
        """An iteration begins, and the one before is over."""
        yield from self.end_turn(at)
        self.turn = index
        trigger = "Continuation" if index else "User"
        yield self.event("TurnStart", turn_index=index, timestamp=at, triggered_by=trigger)

    def end_turn(self, at: str) -> Iterator[Fields]:
        """The open iteration is over; one in which the model said nothing has no usage."""
        if self.turn is None:
            return
        usage = self.usage or dict.fromkeys(COUNTS, 0)
        for name in COUNTS:
            self.total[name] += count_field(usage, name)
        if self.answer is not None:
            about: Fields = {"message": self.answer, "usage": usage, "tool_results": []}
            yield self.event("TurnEnd", turn_index=self.turn, timestamp=at, **about)
        self.turn = self.answer = self.usage = None

    def end(self, at: str, outcome: str, error: str) -> Iterator[Fields]:
        """The task is over."""
        yield from self.end_turn(at)
        message: Fields = {"role": "assistant", "content": [{"type": "text", "text": self.said}]}
        yield self.event(
            "AgentEnd",
            messages=[message] if self.said else [],
            usage=dict(self.total),
            timestamp=at,
            outcome=outcome,
            error=error or None,
        )


@dataclass(slots=True)
class Spawn:
    """A tool call that runs, and may be the one that spawned a sub-agent."""

    session_id: str
    loop_id: str
    call_id: str
    name: str


@dataclass(slots=True)
class ReaderState:
    """What has to be known to read the next row."""

    tasks: dict[str, Task] = field(default_factory=dict)  # open ones, by task id
    current: dict[str, str] = field(default_factory=dict)  # by session: the task that started last
    last: dict[str, str] = field(default_factory=dict)  # by session: the one that ended last, or runs
    prompts: dict[str, list[Fields]] = field(default_factory=dict)  # by session: not yet of a task
    spawns: list[Spawn] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)  # answers whose usage row is still to come
    cursor: dict[str, list[Json]] = field(default_factory=dict)  # by table: the last row

    def task(self, session_id: str, data: Fields) -> Task | None:
        """Return the open task that a row belongs to."""
        named = text_field(data, "task_id")
        return self.tasks.get(named or self.current.get(session_id, ""))

    def began(self, task: Task) -> None:
        """A task began."""
        self.tasks[task.loop_id] = task
        self.last.pop(task.session_id, None)
        self.current[task.session_id] = self.last[task.session_id] = task.loop_id
        _shorten(self.last)

    def answered(self, key: str) -> None:
        """A call was answered, and its usage row is still to come."""
        self.calls[key] = self.calls.pop(key, 0) + 1
        _shorten(self.calls)

    def runs(self, spawn: Spawn) -> None:
        """A tool call began."""
        self.spawns = [*self.spawns, spawn][-_SPAWNS_KEPT:]

    def returned(self, task: Task, call_id: str) -> None:
        """A tool call is over."""
        self.spawns = [
            each for each in self.spawns if (each.loop_id, each.call_id) != (task.loop_id, call_id)
        ]


def _shorten(known: dict[str, str] | dict[str, int]) -> None:
    """Forget the oldest."""
    while len(known) > _KEPT:
        del known[next(iter(known))]


def dump_state(known: ReaderState) -> Json:
    return cast("Json", asdict(known))


def load_state(state: Json) -> ReaderState:
    """Return what `saved` kept."""
    if not isinstance(state, dict):
        return ReaderState()
    kept = dict(state)
    tasks = cast("dict[str, Fields]", kept.pop("tasks"))
    spawns = cast("list[Fields]", kept.pop("spawns"))
    return ReaderState(
        tasks={key: Task(**one) for key, one in tasks.items()},  # type: ignore[arg-type]  # as `saved` left it
        spawns=[Spawn(**one) for one in spawns],  # type: ignore[arg-type]  # as above
        **kept,  # type: ignore[arg-type]  # as above
    )
