"""Targets: what an entry is about, found by the names that its author gave.

A target is stored by names that survive a rebuild and the withdrawal of loops: session id, loop id and run,
position of the turn, ordinal of the evaluation. Each has an anchor, the event from which on the entry stands:
the newest event of the target when the entry was written, or the event itself. Cost: one query a level.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.db.models import Max

from recorder.models import EventRecord, LoopRecord, Note, ParallelGroupRecord, Session, Turn
from recorder.notes.errors import NoTarget


@dataclass(frozen=True, slots=True)
class Target:
    """A target as notes store it; `event` is its anchor."""

    target: str
    session_id: str
    event: int
    loop_id: str = ""
    run: int = 0
    loop: int | None = None
    turn: int | None = None
    group: int | None = None

    @property
    def fields(self) -> dict[str, object]:
        """Return the columns of a note on this target."""
        return asdict(self)

    @property
    def name(self) -> str:
        """Return a key unique among the targets of a project; the event only if it is the target."""
        parts = [self.target, self.session_id, self.loop_id, self.run, self.turn, self.group]
        return "\n".join(map(str, [*parts, self.event if self.target == Note.Target.EVENT else ""]))


def of_note(note: Note) -> Target:
    """Return the target of an entry, which may be gone."""
    return Target(
        note.target,
        note.session_id,
        note.event,
        note.loop_id,
        note.run,
        note.loop,
        note.turn,
        note.group,
    )


def find(
    project: int,
    session_id: str,
    *,
    loop: int | str | None = None,
    run: int | None = None,
    turn: int | None = None,
    event: int | None = None,
    evaluation: int | None = None,
) -> Target:
    """Return the target that these names select, the narrowest of them.

    `loop` is the id of a loop record, or a `loop_id` (of the newest run unless `run` says which); `turn` is
    the position in the loop, from 0; `evaluation` is the id of a group. Raises NoTarget.
    """
    session = _session(project, session_id)
    if event is not None:
        return _of_event(session, event, loop, turn)
    if evaluation is not None:
        return _of_evaluation(session, evaluation)
    if loop is None:
        if turn is not None:
            raise NoTarget("`turn` needs `loop`: a turn is numbered within its loop")
        return Target(Note.Target.SESSION, session.session_id, _newest(session=session.pk))
    found = _loop(session, loop, run)
    return _of_loop(found) if turn is None else _of_turn(found, turn)


def _session(project: int, session_id: str) -> Session:
    found = Session.objects.filter(project=project, session_id=session_id).only("session_id").first()
    if found is None:
        raise NoTarget(f"the project has no session {session_id}")
    return found


def _loop(session: Session, loop: int | str, run: int | None) -> LoopRecord:
    rows = LoopRecord.objects.filter(session=session).order_by("-run").defer("metadata", "error")
    rows = rows.filter(pk=loop) if isinstance(loop, int) else rows.filter(loop_id=loop)
    found = (rows if run is None else rows.filter(run=run)).select_related("session").first()
    if found is None:
        raise NoTarget(f"the session has no loop {loop}" + ("" if run is None else f", run {run}"))
    return found


def _of_loop(loop: LoopRecord) -> Target:
    anchor = loop.end_event or _newest(loop=loop.pk) or _newest(session=loop.session_id)
    return Target(Note.Target.LOOP, loop.session.session_id, anchor, loop.loop_id, loop.run, loop.pk)


def _of_turn(loop: LoopRecord, ordinal: int) -> Target:
    turn = Turn.objects.filter(loop=loop, ordinal=ordinal).only("end_event").first()
    if turn is None:
        raise NoTarget(f"the loop has no turn {ordinal}; it has {loop.turns}, numbered from 0")
    anchor = turn.end_event or _newest(loop=loop.pk)  # an open turn has the newest event of its loop
    return Target(
        Note.Target.TURN, loop.session.session_id, anchor, loop.loop_id, loop.run, loop.pk, turn=ordinal
    )


def _of_event(session: Session, event: int, loop: int | str | None, turn: int | None) -> Target:
    rows = EventRecord.objects.filter(session=session, pk=event).select_related("loop", "turn")
    found = rows.defer("loop__metadata", "loop__error", "turn__error").first()
    if found is None:
        raise NoTarget(f"the session has no event {event}")
    if loop is not None and (found.loop is None or loop not in (found.loop.pk, found.loop.loop_id)):
        raise NoTarget(f"event {event} is not of loop {loop}")
    if turn is not None and (found.turn is None or found.turn.ordinal != turn):
        raise NoTarget(f"event {event} is not of turn {turn}")
    if found.loop is None:
        return Target(Note.Target.EVENT, session.session_id, event)
    return Target(
        Note.Target.EVENT,
        session.session_id,
        event,
        found.loop.loop_id,
        found.loop.run,
        found.loop.pk,
        turn=found.turn.ordinal if found.turn else None,
    )


def _of_evaluation(session: Session, group: int) -> Target:
    found = ParallelGroupRecord.objects.filter(session=session, pk=group).first()
    if found is None:
        raise NoTarget(f"the session has no evaluation {group}")
    anchor = found.end_event or _newest(session=session.pk)
    return Target(Note.Target.EVALUATION, session.session_id, anchor, group=found.ordinal)


def _newest(**of: int) -> int:
    newest = EventRecord.objects.filter(**of).aggregate(newest=Max("journal_id"))["newest"]
    return int(newest or 0)
