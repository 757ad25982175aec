"""What each type of aidaemon's events says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from recorder.core.events.fields import is_id
from recorder.core.formats.aidaemon.state import AGENT, ReaderState, Spawn, Task
from recorder.core.formats.base import COUNTS, Fields, count_field, text_field
from recorder.core.records import Json

OUTCOMES = {"completed": "completed", "failed": "failed", "cancelled": "cancelled"}
_SCOPES = {"tool_error": "tool", "permission_denied": "tool", "llm_error": "turn"}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table events. `at` is its time."""

    known: ReaderState
    session_id: str
    data: Fields
    at: str

    @property
    def task(self) -> Task | None:
        return self.known.task(self.session_id, self.data)

    def words(self, name: str) -> str:
        """Return a text field, "" if it is none."""
        return text_field(self.data, name)

    def event(self, event_type: str, /, **fields: Json) -> Fields:
        """Return an event of the open task, or of the session where there is none."""
        task = self.task
        whose: Fields = {"session_id": self.session_id, "loop_id": task.loop_id if task else None}
        return {"type": event_type, **whose, "timestamp": self.at, **fields}

    def begin(self, task_id: str) -> Iterator[Fields]:
        """A task begins; it continues the one before it in its session, or the one it names."""
        known = self.known
        parent = self.words("parent_task_id") or known.last.get(self.session_id)
        task = Task(self.session_id, task_id)
        known.began(task)
        yield task.event(
            "AgentStart",
            agent_id=AGENT,
            session_id=self.session_id,
            parent_loop_id=parent if is_id(parent) else None,
            continuation_kind="Default" if is_id(parent) else "Initial",
            timestamp=self.at,
            metadata=None,
            title=self.words("description") or None,
        )
        for prompt in known.prompts.pop(self.session_id, []):
            yield from said(task, prompt)


def said(task: Task, prompt: Fields) -> Iterator[Fields]:
    """What a person said."""
    yield task.event("MessageStart", message=prompt)
    yield task.event("MessageEnd", message=prompt)


def session_start(row: Row) -> Iterator[Fields]:
    yield row.event("SessionInfo", channel=row.data.get("channel"), user=row.data.get("user_id"))


def session_end(row: Row) -> Iterator[Fields]:
    yield row.event("Notice", kind="session_end", severity="info", text=row.words("reason"))


def user_message(row: Row) -> Iterator[Fields]:
    prompt: Fields = {"role": "user", "content": [{"type": "text", "text": row.words("content")}]}
    task = row.task
    if task is not None:
        yield from said(task, prompt)
    else:
        row.known.prompts.setdefault(row.session_id, []).append(prompt)


def task_start(row: Row) -> Iterator[Fields]:
    yield from row.begin(row.words("task_id"))


def task_end(row: Row) -> Iterator[Fields]:
    task, known = row.task, row.known
    if task is None:
        return
    outcome = OUTCOMES.get(row.words("status"), "failed")
    yield from task.end(row.at, outcome, row.words("error"))
    del known.tasks[task.loop_id]
    if known.current.get(task.session_id) == task.loop_id:
        del known.current[task.session_id]
    if summary := row.words("summary"):
        yield {"type": "SessionInfo", "session_id": task.session_id, "summary": summary}


def thinking_start(row: Row) -> Iterator[Fields]:
    task = row.task
    if task is not None:
        yield from task.begin_turn(max(0, count_field(row.data, "iteration") - 1), row.at)


def assistant_response(row: Row) -> Iterator[Fields]:
    task, data = row.task, row.data
    if task is None:
        return
    if task.turn is None or task.answer is not None:
        yield from task.begin_turn(0 if task.turn is None else task.turn + 1, row.at)
    calls = data.get("tool_calls")
    content: list[Json] = [{"type": "text", "text": row.words("content")}] if row.words("content") else []
    content += [
        {
            "type": "toolCall",
            "id": text_field(call, "id"),
            "name": text_field(call, "name"),
            "arguments": call.get("arguments"),
        }
        for call in (calls if isinstance(calls, list) else [])
        if isinstance(call, dict)
    ]
    usage: Fields = dict.fromkeys(COUNTS, 0)
    usage["input"], usage["output"] = count_field(data, "input_tokens"), count_field(data, "output_tokens")
    usage["total_tokens"] = count_field(data, "input_tokens") + count_field(data, "output_tokens")
    about: Fields = {"model": row.words("model"), "provider": "", "usage": usage}
    stop = "toolUse" if calls else "stop"
    task.answer = {"role": "assistant", "content": content, "stopReason": stop, **about}
    task.usage, task.said = usage, row.words("content") or task.said
    row.known.answered(call_key(row.session_id, about["model"], data))
    yield task.event("MessageStart", message={**task.answer, "content": []})
    yield task.event("MessageEnd", message=task.answer, message_id=row.words("message_id") or None)


def tool_call(row: Row) -> Iterator[Fields]:
    task, call_id = row.task, row.words("tool_call_id")
    if task is None:
        return
    name = row.words("name")
    row.known.runs(Spawn(task.session_id, task.loop_id, call_id, name))
    args = row.data.get("arguments")
    yield row.event("ToolExecutionStart", tool_call_id=call_id, tool_name=name, args=args)


def tool_result(row: Row) -> Iterator[Fields]:
    task, call_id = row.task, row.words("tool_call_id")
    if task is None:
        return
    row.known.returned(task, call_id)
    error = row.data.get("error")
    result: Fields = {
        "content": [{"type": "text", "text": row.words("result")}],
        "details": {"error": error} if error else None,
    }
    took = row.data.get("duration_ms")
    yield row.event(
        "ToolExecutionEnd",
        tool_call_id=call_id,
        tool_name=row.words("name"),
        result=result,
        is_error=row.data.get("success") is not True,
        duration_ms=count_field(row.data, "duration_ms") if took is not None else None,
    )


def policy_decision(row: Row) -> Iterator[Fields]:
    words = f"{row.words('old_model')} or {row.words('new_model')}"
    yield row.event("Notice", kind="policy_decision", severity="info", text=words, data=row.data)


def decision_point(row: Row) -> Iterator[Fields]:
    yield row.event(
        "Notice",
        kind="decision_point",
        severity=row.words("severity") or "info",
        code=row.words("code") or row.words("decision_type") or None,
        text=row.words("summary") or None,
        data=row.data.get("metadata"),
    )


def error(row: Row) -> Iterator[Fields]:
    kind = row.words("error_type")
    yield row.event(
        "ErrorRaised",
        scope=_SCOPES.get(kind, "loop"),
        code=kind or None,
        message=row.words("message") or "It failed without a word.",
        recovered=row.data.get("recovered") is True,
    )


def sub_agent_spawn(row: Row) -> Iterator[Fields]:
    """The row stands in the child's session and names no parent: the call that runs now spawned it."""
    child = row.words("child_session_id")
    others = [each for each in row.known.spawns if each.session_id != child]
    likely = [each for each in others if "agent" in each.name or "spawn" in each.name] or others
    if not is_id(child) or not likely:
        return
    spawn = likely[-1]
    yield {
        "type": "SubAgentLinked",
        "parent_session_id": spawn.session_id,
        "parent_loop_id": spawn.loop_id,
        "tool_call_id": spawn.call_id,
        "tool_name": spawn.name,
        "child_session_id": child,
        "certainty": "inferred",
        "timestamp": row.at,
    }


def sub_agent_complete(row: Row) -> Iterator[Fields]:
    yield row.event("SessionInfo", summary=row.words("result_summary") or None)


def approval_requested(row: Row) -> Iterator[Fields]:
    yield row.event(
        "ApprovalRequested",
        kind="command",
        command=row.words("command"),
        risk=row.words("risk_level") or None,
        warnings=row.data.get("warnings"),
    )


def approval_granted(row: Row) -> Iterator[Fields]:
    scope = row.words("approval_type")
    known = scope if scope in ("once", "session", "always") else None
    yield row.event("ApprovalResolved", command=row.words("command"), decision="granted", scope=known)


def approval_denied(row: Row) -> Iterator[Fields]:
    yield row.event("ApprovalResolved", command=row.words("command"), decision="denied")


def call_key(session_id: str, model: Json, data: Fields) -> str:
    """Return what a response and its usage row have in common."""
    return f"{session_id} {model} {count_field(data, 'input_tokens')} {count_field(data, 'output_tokens')}"


TRANSLATORS: dict[str, Callable[[Row], Iterator[Fields]]] = {
    each.__name__: each
    for each in (
        session_start,
        session_end,
        user_message,
        assistant_response,
        tool_call,
        tool_result,
        thinking_start,
        policy_decision,
        decision_point,
        task_start,
        task_end,
        error,
        sub_agent_spawn,
        sub_agent_complete,
        approval_requested,
        approval_granted,
        approval_denied,
    )
}
