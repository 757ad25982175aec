"""State of the aidaemon reader: open tasks by session. A task is a loop, a thinking iteration a turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import cast

from recorder.core.formats.base import COUNTS, Fields, count_field, inverted, rename_fields, text_field
from recorder.core.records import Json

AGENT = "aidaemon"
_MAX_RUNNING_CALLS = 50
_MAX_ENTRIES = 1_000  # sessions in `last`, responses in `calls`
# Stored name -> attribute, where they differ.
_STORED_NAMES = {"spawns": "running_calls"}
_STORED_NAMES_OF_TASK = {"said": "last_text"}


@dataclass(slots=True)
class Task:
    """A task that has not ended."""

    session_id: str
    loop_id: str
    turn: int | None = None  # index of the open turn
    answer: Fields | None = None  # message of the open turn
    usage: Fields | None = None
    last_text: str = ""  # text of the last answer that has one
    total: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))

    def event(self, event_type: str, /, **fields: Json) -> Fields:
        """Return an event of this loop."""
        return {"type": event_type, "loop_id": self.loop_id, **fields}

    def begin_turn(self, index: int, at: str) -> Iterator[Fields]:
        """End the open turn and start another one."""
        yield from self.end_turn(at)
        self.turn = index
        trigger = "Continuation" if index else "User"
        yield self.event("TurnStart", turn_index=index, timestamp=at, triggered_by=trigger)

    def end_turn(self, at: str) -> Iterator[Fields]:
        """End the open turn. A turn without an answer ends silently and has no usage."""
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
        """End the task with one of the values of `OUTCOMES`."""
        yield from self.end_turn(at)
        message: Fields = {"role": "assistant", "content": [{"type": "text", "text": self.last_text}]}
        yield self.event(
            "AgentEnd",
            messages=[message] if self.last_text else [],
            usage=dict(self.total),
            timestamp=at,
            outcome=outcome,
            error=error or None,
        )


@dataclass(slots=True)
class RunningCall:
    """A tool call that runs. It may have started a sub-agent."""

    session_id: str
    loop_id: str
    call_id: str
    name: str


@dataclass(slots=True)
class ReaderState:
    """What the reader keeps between rows. Stored as JSON, under the names of `_STORED_NAMES`."""

    tasks: dict[str, Task] = field(default_factory=dict)  # open tasks by task id
    current: dict[str, str] = field(default_factory=dict)  # by session: the open task that started last
    last: dict[str, str] = field(default_factory=dict)  # by session: the task that started last, open or not
    prompts: dict[str, list[Fields]] = field(
        default_factory=dict
    )  # by session: messages before the next task starts
    running_calls: list[RunningCall] = field(default_factory=list)
    calls: dict[str, int] = field(
        default_factory=dict
    )  # by `call_key`: responses whose usage row is still to come
    cursor: dict[str, list[Json]] = field(
        default_factory=dict
    )  # by table: id and fingerprint of the last row

    def task(self, session_id: str, data: Fields) -> Task | None:
        """Return the open task that a row names, else the current one of the session."""
        task_id = text_field(data, "task_id")
        return self.tasks.get(task_id or self.current.get(session_id, ""))

    def task_started(self, task: Task) -> None:
        self.tasks[task.loop_id] = task
        self.last.pop(task.session_id, None)
        self.current[task.session_id] = self.last[task.session_id] = task.loop_id
        _shorten(self.last)

    def expect_usage_row(self, key: str) -> None:
        """Note a response whose usage row is still to come."""
        self.calls[key] = self.calls.pop(key, 0) + 1
        _shorten(self.calls)

    def call_started(self, call: RunningCall) -> None:
        self.running_calls = [*self.running_calls, call][-_MAX_RUNNING_CALLS:]

    def call_ended(self, task: Task, call_id: str) -> None:
        ended = task.loop_id, call_id
        self.running_calls = [call for call in self.running_calls if (call.loop_id, call.call_id) != ended]


def _shorten(entries: dict[str, str] | dict[str, int]) -> None:
    """Delete the oldest entries beyond `_MAX_ENTRIES`."""
    while len(entries) > _MAX_ENTRIES:
        del entries[next(iter(entries))]


def dump_state(state: ReaderState) -> Json:
    """Return the state as JSON, under its stored names."""
    fields = cast("dict[str, Json]", asdict(state))
    tasks = cast("dict[str, Fields]", fields["tasks"])
    names = inverted(_STORED_NAMES_OF_TASK)
    fields["tasks"] = {key: rename_fields(task, names) for key, task in tasks.items()}
    return rename_fields(fields, inverted(_STORED_NAMES))


def load_state(stored: Json) -> ReaderState:
    """Return the state that `dump_state` returned, or an empty one for None."""
    if not isinstance(stored, dict):
        return ReaderState()
    fields = rename_fields(stored, _STORED_NAMES)
    tasks = cast("dict[str, Fields]", fields.pop("tasks"))
    calls = cast("list[Fields]", fields.pop("running_calls"))
    return ReaderState(
        tasks={
            key: Task(**rename_fields(task, _STORED_NAMES_OF_TASK))  # type: ignore[arg-type]  # of `dump_state`
            for key, task in tasks.items()
        },
        running_calls=[RunningCall(**call) for call in calls],  # type: ignore[arg-type]  # as above
        **fields,  # type: ignore[arg-type]  # as above
    )
