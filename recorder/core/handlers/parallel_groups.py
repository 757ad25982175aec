"""Parallel groups: announced branches, their judge, and the selected branch."""

from __future__ import annotations

from recorder.core.content import messages
from recorder.core.context import EventContext, Placement
from recorder.core.costs import billing
from recorder.core.event_time import arrival_if_earlier
from recorder.core.events import ParallelLoopEnd, ParallelLoopStart
from recorder.core.handlers import sessions
from recorder.core.handlers.verdict import named_branches, verdict
from recorder.core.lookups import LAST_RUNS
from recorder.core.money import token_counts
from recorder.core.records import Group, Json, Loop, Session
from recorder.core.state import State


def start(context: EventContext, event: ParallelLoopStart) -> Placement:
    """Start a group: its branches are pending until they start."""
    session = sessions.get_or_create(context, event.session_id, event.timestamp)
    group = Group(
        session=session,
        ordinal=session.groups + 1,
        loop_ids=list(dict.fromkeys(event.loop_ids)),
        started_at=event.timestamp,
        started_received_at=arrival_if_earlier(event.timestamp, context.received_at),
        start_event=context.id,
    )
    session.groups += 1
    context.add(group)
    for index, loop_id in enumerate(group.loop_ids):
        _announce(context, group, index, loop_id)
    branches = context.state.branches.get(group)
    return Placement(session, branches[0] if branches else None, relation="about")


def end(context: EventContext, event: ParallelLoopEnd) -> Placement:
    """End a group; if its start is missing, create a group of the selected loop alone."""
    group = _group_of(context, event)
    if group is None:
        session = context.state.sessions.get(event.session_id)
        context.anomaly(
            "unknown_group",
            "A parallel group ended, but neither the group nor its selected loop had started.",
            session,
        )
        return Placement(session)
    if group.status == "completed":
        context.anomaly(
            "duplicate_end", "A parallel group ended twice; the first selection is kept.", group.session
        )
        return Placement(group.session)
    token_counts.set_counts(group, event.evaluation_usage)
    billing.group_ended(context, group, event.evaluation_usage, event.timestamp)
    group.status, group.ended_at, group.end_event = "completed", event.timestamp, context.id
    group.ended_received_at = arrival_if_earlier(event.timestamp, context.received_at)
    group.selected_loop_id = event.selected_loop_id
    group.selected_config_index = event.selected_config_index
    group.verdict = verdict(
        selected=group.selected_config_index,
        names=None if group.judge is None else group.named,
        judge_used_tokens=token_counts.has_tokens(group),
    )
    context.touch(group)
    selected = _select(context, group)
    _remove_running(context.state, group)
    return Placement(group.session, selected, relation="about")


def judge_of(state: State, session: Session, loop_id: str) -> Group | None:
    """Return the running group that a starting loop is the judge of, None if there is none.

    The caller passes loops without a parent. phi-core marks no judge: while a group runs, such a loop that is
    not a branch can only be its judge.
    """
    running = state.running_groups.get(session)
    if not running:
        return None
    group = next(reversed(running))
    return group if group.judge is None and loop_id not in group.loop_ids else None


def record_judgement(context: EventContext, judge: Loop, conversation: Json) -> None:
    """Note which branches the last answer of a judge names; messages without an answer change nothing.

    It is called for each message, turn and loop that ends: runtimes send the answer in any of them.
    """
    if judge.role != "judge":
        return
    answers = [
        message
        for message in messages.iter_messages(conversation)
        if messages.role_of(message) == "assistant"
    ]
    for group in context.state.running_groups.get(judge.session, ()):
        if group.judge is judge and answers:
            group.named = named_branches(messages.text_of(answers[-1]), len(group.loop_ids))
            context.touch(group)


def abort(context: EventContext, loop: Loop) -> None:
    """Abort the group of a branch that was cut off: phi-core ends a group only when all branches ended."""
    group = loop.group
    if group is not None and group.status == "running":
        group.status, group.ended_at = "aborted", loop.ended_at
        group.ended_received_at = loop.ended_received_at
        _remove_running(context.state, group)
        context.touch(group)


def abort_of_producer(context: EventContext, producer: int) -> None:
    """Abort the groups with a branch of a producer whose stream ended, once none of their branches runs."""
    running = [group for of_session in context.state.running_groups.values() for group in of_session]
    for group in sorted(running, key=lambda group: group.start_event or 0):
        branches = context.state.branches.get(group, ())
        if any(loop.producer == producer for loop in branches) and all(
            loop.status != "running" for loop in branches
        ):
            times = [loop.ended_at for loop in branches if loop.ended_at is not None]
            group.status, group.ended_at = "aborted", max(times, default=group.started_at)
            if group.ended_at is not None:
                group.ended_received_at = arrival_if_earlier(group.ended_at, context.received_at)
            _remove_running(context.state, group)
            context.touch(group)


def _announce(context: EventContext, group: Group, index: int, loop_id: str) -> None:
    runs = context.state.runs.get((group.session, loop_id))
    last = runs[-1] if runs else None
    if last is not None and last.status == "running" and last.group is None:
        _join(context, last, group, index)  # the branch started before its group
        return
    context.add(
        Loop(
            session=group.session,
            loop_id=loop_id,
            run=last.run + 1 if last else 1,
            producer=context.producer,
            role="branch",
            status="pending",
            group=group,
            branch_index=index,
        )
    )


def _join(context: EventContext, loop: Loop, group: Group, index: int) -> None:
    loop.group, loop.branch_index = group, index
    if loop.role == "normal":
        loop.role = "branch"
    context.state.branches.setdefault(group, []).append(loop)
    context.touch(loop)


def _group_of(context: EventContext, event: ParallelLoopEnd) -> Group | None:
    state = context.state
    session = state.sessions.get(event.session_id)
    if session is not None:
        for run in reversed(state.runs.get((session, event.selected_loop_id), [])[-LAST_RUNS:]):
            if run.group is not None:
                return run.group
    loop = state.latest.get(event.selected_loop_id)
    if loop is None or loop.group is not None:
        return None if loop is None else loop.group
    context.anomaly("unknown_group", "A parallel group ended that never started.", loop.session, loop)
    loop.session.groups += 1
    group = Group(session=loop.session, ordinal=loop.session.groups, loop_ids=[loop.loop_id])
    context.add(group)
    _join(context, loop, group, 0)
    context.touch(loop.session)
    return group


def _select(context: EventContext, group: Group) -> Loop | None:
    session, selected = group.session, None
    for loop in context.state.branches.get(group, ()):
        loop.is_selected = loop.loop_id == group.selected_loop_id
        if loop.is_selected:
            selected = loop
        context.touch(loop)
    if selected is not None and session.head is not None and session.head.group is group:
        session.head = selected
        sessions.update_status(session)
    context.touch(session)
    return selected


def _remove_running(state: State, group: Group) -> None:
    state.running_groups.get(group.session, {}).pop(group, None)
