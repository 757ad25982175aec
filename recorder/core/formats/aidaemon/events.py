"""Translators of aidaemon's event types: one function each, named after the type. Returns native events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from recorder.core.events.fields import is_id
from recorder.core.formats.aidaemon.state import AGENT, ReaderState, RunningCall, Task
from recorder.core.formats.base import COUNTS, Fields, count_field, text_field
from recorder.core.records import Json

OUTCOMES = {"completed": "completed", "failed": "failed", "cancelled": "cancelled"}
_SCOPES = {"tool_error": "tool", "permission_denied": "tool", "llm_error": "turn"}


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """A row of the table `events`. `at` is its time in RFC 3339; `data` the decoded column of that name."""

    state: ReaderState
    session_id: str
    data: Fields
    at: str

    @property
    def task(self) -> Task | None:
        return self.state.task(self.session_id, self.data)

    def text(self, name: str) -> str:
        """Return a field of `data` that is text, else ""."""
        return text_field(self.data, name)

    def event(self, event_type: str, /, **fields: Json) -> Fields:
        """Return an event of the open task, or of the session if no task is open."""
        task = self.task
        ids: Fields = {"session_id": self.session_id, "loop_id": task.loop_id if task else None}
        return {"type": event_type, **ids, "timestamp": self.at, **fields}

    def start_task(self, task_id: str) -> Iterator[Fields]:
        """Start a task. Its parent is the task that it names, else the previous one of its session."""
        state = self.state
        parent = self.text("parent_task_id") or state.last.get(self.session_id)
        task = Task(self.session_id, task_id)
        state.task_started(task)
        yield task.event(
            "AgentStart",
            agent_id=AGENT,
            session_id=self.session_id,
            parent_loop_id=parent if is_id(parent) else None,
            continuation_kind="Default" if is_id(parent) else "Initial",
            timestamp=self.at,
            metadata=None,
            title=self.text("description") or None,
        )
        for prompt in state.prompts.pop(self.session_id, []):
            yield from prompt_events(task, prompt)


def prompt_events(task: Task, prompt: Fields) -> Iterator[Fields]:
    """Yield a user's message, start and end."""
    yield task.event("MessageStart", message=prompt)
    yield task.event("MessageEnd", message=prompt)


def session_start(row: StoredEvent) -> Iterator[Fields]:
    yield row.event("SessionInfo", channel=row.data.get("channel"), user=row.data.get("user_id"))


def session_end(row: StoredEvent) -> Iterator[Fields]:
    yield row.event("Notice", kind="session_end", severity="info", text=row.text("reason"))


def user_message(row: StoredEvent) -> Iterator[Fields]:
    prompt: Fields = {"role": "user", "content": [{"type": "text", "text": row.text("content")}]}
    task = row.task
    if task is not None:
        yield from prompt_events(task, prompt)
    else:
        row.state.prompts.setdefault(row.session_id, []).append(prompt)


def task_start(row: StoredEvent) -> Iterator[Fields]:
    yield from row.start_task(row.text("task_id"))


def task_end(row: StoredEvent) -> Iterator[Fields]:
    task, state = row.task, row.state
    if task is None:
        return
    outcome = OUTCOMES.get(row.text("status"), "failed")
    yield from task.end(row.at, outcome, row.text("error"))
    del state.tasks[task.loop_id]
    if state.current.get(task.session_id) == task.loop_id:
        del state.current[task.session_id]
    if summary := row.text("summary"):
        yield {"type": "SessionInfo", "session_id": task.session_id, "summary": summary}


def thinking_start(row: StoredEvent) -> Iterator[Fields]:
    task = row.task
    if task is not None:
        yield from task.begin_turn(max(0, count_field(row.data, "iteration") - 1), row.at)


def assistant_response(row: StoredEvent) -> Iterator[Fields]:
    task, data = row.task, row.data
    if task is None:
        return
    if task.turn is None or task.answer is not None:
        yield from task.begin_turn(0 if task.turn is None else task.turn + 1, row.at)
    calls = data.get("tool_calls")
    content: list[Json] = [{"type": "text", "text": row.text("content")}] if row.text("content") else []
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
    about: Fields = {"model": row.text("model"), "provider": "", "usage": usage}
    stop = "toolUse" if calls else "stop"
    task.answer = {"role": "assistant", "content": content, "stopReason": stop, **about}
    task.usage, task.last_text = usage, row.text("content") or task.last_text
    row.state.expect_usage_row(call_key(row.session_id, about["model"], data))
    yield task.event("MessageStart", message={**task.answer, "content": []})
    yield task.event("MessageEnd", message=task.answer, message_id=row.text("message_id") or None)


def tool_call(row: StoredEvent) -> Iterator[Fields]:
    task, call_id = row.task, row.text("tool_call_id")
    if task is None:
        return
    name = row.text("name")
    row.state.call_started(RunningCall(task.session_id, task.loop_id, call_id, name))
    args = row.data.get("arguments")
    yield row.event("ToolExecutionStart", tool_call_id=call_id, tool_name=name, args=args)


def tool_result(row: StoredEvent) -> Iterator[Fields]:
    task, call_id = row.task, row.text("tool_call_id")
    if task is None:
        return
    row.state.call_ended(task, call_id)
    error = row.data.get("error")
    result: Fields = {
        "content": [{"type": "text", "text": row.text("result")}],
        "details": {"error": error} if error else None,
    }
    duration = row.data.get("duration_ms")
    yield row.event(
        "ToolExecutionEnd",
        tool_call_id=call_id,
        tool_name=row.text("name"),
        result=result,
        is_error=row.data.get("success") is not True,
        duration_ms=count_field(row.data, "duration_ms") if duration is not None else None,
    )


def policy_decision(row: StoredEvent) -> Iterator[Fields]:
    text = f"{row.text('old_model')} or {row.text('new_model')}"
    yield row.event("Notice", kind="policy_decision", severity="info", text=text, data=row.data)


def decision_point(row: StoredEvent) -> Iterator[Fields]:
    yield row.event(
        "Notice",
        kind="decision_point",
        severity=row.text("severity") or "info",
        code=row.text("code") or row.text("decision_type") or None,
        text=row.text("summary") or None,
        data=row.data.get("metadata"),
    )


def error(row: StoredEvent) -> Iterator[Fields]:
    kind = row.text("error_type")
    yield row.event(
        "ErrorRaised",
        scope=_SCOPES.get(kind, "loop"),
        code=kind or None,
        message=row.text("message") or "Failed without a message.",
        recovered=row.data.get("recovered") is True,
    )


def sub_agent_spawn(row: StoredEvent) -> Iterator[Fields]:
    """Link the child to the tool call of another session that started last.

    The row is stored in the child's session and names no parent. Tools whose name contains "agent" or
    "spawn" are preferred.
    """
    child = row.text("child_session_id")
    others = [call for call in row.state.running_calls if call.session_id != child]
    candidates = [call for call in others if "agent" in call.name or "spawn" in call.name] or others
    if not is_id(child) or not candidates:
        return
    spawn = candidates[-1]
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


def sub_agent_complete(row: StoredEvent) -> Iterator[Fields]:
    yield row.event("SessionInfo", summary=row.text("result_summary") or None)


def approval_requested(row: StoredEvent) -> Iterator[Fields]:
    yield row.event(
        "ApprovalRequested",
        kind="command",
        command=row.text("command"),
        risk=row.text("risk_level") or None,
        warnings=row.data.get("warnings"),
    )


def approval_granted(row: StoredEvent) -> Iterator[Fields]:
    approval_type = row.text("approval_type")
    scope = approval_type if approval_type in ("once", "session", "always") else None
    yield row.event("ApprovalResolved", command=row.text("command"), decision="granted", scope=scope)


def approval_denied(row: StoredEvent) -> Iterator[Fields]:
    yield row.event("ApprovalResolved", command=row.text("command"), decision="denied")


def call_key(session_id: str, model: Json, data: Fields) -> str:
    """Return the key that matches a response to its `token_usage` row: session, model and token counts."""
    return f"{session_id} {model} {count_field(data, 'input_tokens')} {count_field(data, 'output_tokens')}"


TRANSLATORS: dict[str, Callable[[StoredEvent], Iterator[Fields]]] = {
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
