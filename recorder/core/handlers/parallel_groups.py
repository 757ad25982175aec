"""Parallel groups: announced branches, their judge, the one that was selected."""

from __future__ import annotations

from recorder.core.content import messages
from recorder.core.context import Place, Step
from recorder.core.events import ParallelLoopEnd, ParallelLoopStart
from recorder.core.handlers import lineage, sessions
from recorder.core.handlers.verdict import named, verdict
from recorder.core.money import billing, token_counts
from recorder.core.records import Group, Json, Loop, Session
from recorder.core.state import Memory


def start(step: Step, event: ParallelLoopStart) -> Place:
    """A group begins: its branches are pending until they start."""
    session = sessions.find_or_make(step, event.session_id, event.timestamp)
    group = Group(
        session=session,
        ordinal=session.groups + 1,
        loop_ids=list(dict.fromkeys(event.loop_ids)),
        started_at=event.timestamp,
        start_event=step.id,
    )
    session.groups += 1
    step.add(group)
    for index, loop_id in enumerate(group.loop_ids):
        _announce(step, group, index, loop_id)
    branches = step.memory.branches.get(group)
    return Place(session, branches[0] if branches else None, standing="beside")


def end(step: Step, event: ParallelLoopEnd) -> Place:
    """A group is over; a selected loop without a group makes a group of one."""
    group = _group_of(step, event)
    if group is None:
        session = step.memory.sessions.get(event.session_id)
        step.anomaly("unknown_group", "A parallel group ended, but neither it nor its winner began.", session)
        return Place(session)
    if group.status == "completed":
        step.anomaly("duplicate_end", "A parallel group ended twice; its first winner stays.", group.session)
        return Place(group.session)
    token_counts.put(group, event.evaluation_usage)
    billing.group_ended(step, group, event.evaluation_usage, event.timestamp)
    group.status, group.ended_at, group.end_event = "completed", event.timestamp, step.id
    group.selected_loop_id = event.selected_loop_id
    group.selected_config_index = event.selected_config_index
    group.verdict = verdict(
        selected=group.selected_config_index,
        names=None if group.judge is None else group.named,
        judge_spent=token_counts.is_any(group),
    )
    step.touch(group)
    selected = _select(step, group)
    _no_longer_running(step.memory, group)
    return Place(group.session, selected, standing="beside")


def judge_of(memory: Memory, session: Session, loop_id: str) -> Group | None:
    """Return the running group that a loop which starts now without a parent must be the judge of."""
    running = memory.groups.get(session)
    if not running:
        return None
    group = next(reversed(running))
    return group if group.judge is None and loop_id not in group.loop_ids else None


def judged(step: Step, judge: Loop, said: Json) -> None:
    """A judge answered: note which branches it names."""
    answers = [message for message in messages.each(said) if messages.role_of(message) == "assistant"]
    for group in step.memory.groups.get(judge.session, ()):
        if group.judge is judge and answers:
            group.named = named(messages.text_of(answers[-1]), len(group.loop_ids))
            step.touch(group)


def abort(step: Step, loop: Loop) -> None:
    """A branch was cut off: its group will not end either."""
    group = loop.group
    if group is not None and group.status == "running":
        group.status, group.ended_at = "aborted", loop.ended_at
        _no_longer_running(step.memory, group)
        step.touch(group)


def leave(step: Step, producer: int) -> None:
    """A producer is done: groups of its branches, none of which still runs, will not end any more."""
    running = [group for of_session in step.memory.groups.values() for group in of_session]
    for group in sorted(running, key=lambda group: group.start_event or 0):
        branches = step.memory.branches.get(group, ())
        if any(loop.producer == producer for loop in branches) and all(
            loop.status != "running" for loop in branches
        ):
            times = [loop.ended_at for loop in branches if loop.ended_at is not None]
            group.status, group.ended_at = "aborted", max(times, default=group.started_at)
            _no_longer_running(step.memory, group)
            step.touch(group)


def _announce(step: Step, group: Group, index: int, loop_id: str) -> None:
    known = step.memory.runs.get((group.session, loop_id))
    last = known[-1] if known else None
    if last is not None and last.status == "running" and last.group is None:
        _join(step, last, group, index)  # its start overtook the group's
        return
    step.add(
        Loop(
            session=group.session,
            loop_id=loop_id,
            run=last.run + 1 if last else 1,
            producer=step.producer,
            role="branch",
            status="pending",
            group=group,
            branch_index=index,
        )
    )


def _join(step: Step, loop: Loop, group: Group, index: int) -> None:
    loop.group, loop.branch_index = group, index
    if loop.role == "normal":
        loop.role = "branch"
    step.memory.branches.setdefault(group, []).append(loop)
    step.touch(loop)


def _group_of(step: Step, event: ParallelLoopEnd) -> Group | None:
    memory = step.memory
    session = memory.sessions.get(event.session_id)
    if session is not None:
        for run in reversed(memory.runs.get((session, event.selected_loop_id), [])[-lineage.LAST_RUNS :]):
            if run.group is not None:
                return run.group
    loop = memory.latest.get(event.selected_loop_id)
    if loop is None or loop.group is not None:
        return None if loop is None else loop.group
    step.anomaly("unknown_group", "A parallel group ended that never began.", loop.session, loop)
    loop.session.groups += 1
    group = Group(session=loop.session, ordinal=loop.session.groups, loop_ids=[loop.loop_id])
    step.add(group)
    _join(step, loop, group, 0)
    step.touch(loop.session)
    return group


def _select(step: Step, group: Group) -> Loop | None:
    session, selected = group.session, None
    for loop in step.memory.branches.get(group, ()):
        loop.is_selected = loop.loop_id == group.selected_loop_id
        if loop.is_selected:
            selected = loop
        step.touch(loop)
    if selected is not None and session.head is not None and session.head.group is group:
        session.head = selected
        sessions.settle(session)
    step.touch(session)
    return selected


def _no_longer_running(memory: Memory, group: Group) -> None:
    memory.groups.get(group.session, {}).pop(group, None)
