"""Deletes recorded sessions for good: their lines, their records, and what was derived from them.

`begin` hides a session in one transaction: from its commit on no page has it, no sum counts it, and no new
line enters it. `finish` then deletes its rows in portions, and may be interrupted at any time: `resume` goes
on. Each transaction leaves every other line readable. What stays is a row of `Deletion` with its id, hashes
of the ids by which its lines are recognised should they be sent again, and the entry of the audit log.

Cost: the lines of its producers and days are examined once; see `recorder.journal.removal.lines`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from recorder.core.records import Json
from recorder.database import project_lock, sql
from recorder.journal import tombstones
from recorder.journal.removal import foreign, lines, quarantine
from recorder.journal.streams import open_streams
from recorder.models import ChildLoopRef, Deletion, LoopRecord, ParallelGroupRecord, Pin, Project, Session
from recorder.operations import audit
from recorder.operations.audit import Actor
from recorder.projection import removal
from recorder.pubsub import invalidation


class NotFound(LookupError):
    """The project has no session of this id."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """A session that is being deleted, for the listeners: rows of other parts that belong to it must go."""

    project: int
    session: int  # primary key
    session_id: str
    loops: Sequence[int]  # primary keys
    groups: Sequence[int]  # primary keys of its evaluations


@dataclass(frozen=True, slots=True)
class Preview:
    """The counts of what the deletion of a session will remove."""

    session: Session
    loops: int
    lines: int
    size: int


Listener = Callable[[Deleted], None]
OnProgress = Callable[[int], None]
_listeners: list[Listener] = []


def subscribe(listener: Listener) -> None:
    """Call `listener` in the transaction that hides a session, to delete what other parts hold of it."""
    if listener not in _listeners:
        _listeners.append(listener)


def find(project: Project, session_ids: Iterable[str], *, with_sub_agents: bool = False) -> list[Session]:
    """Return the sessions with these ids, and on request their sub-agents'. Raises NotFound."""
    wanted = list(dict.fromkeys(session_ids))
    of_id = {each.session_id: each for each in Session.objects.filter(project=project, session_id__in=wanted)}
    if missing := [each for each in wanted if each not in of_id]:
        raise NotFound(f"there is no session {missing[0]!r} in {project.slug}")
    found = [of_id[each] for each in wanted]
    return found + sub_agents(found) if with_sub_agents else found


def sub_agents(sessions: Sequence[Session]) -> list[Session]:
    """Return the sessions of the sub-agents of some sessions, and of theirs, without these sessions."""
    known = {each.pk for each in sessions}
    found: list[Session] = []
    waiting = {*known}
    while waiting:
        spawned = ChildLoopRef.objects.filter(loop__session__in=waiting, child__isnull=False)
        of_refs = Q(pk__in=spawned.values("child__session"))
        more = Session.objects.filter(of_refs | Q(parent__session__in=waiting)).exclude(pk__in=known)
        new = list(more.order_by("pk"))
        found += new
        waiting = {each.pk for each in new}
        known |= waiting
    return found


def preview(session: Session) -> Preview:
    """Return what the deletion of a session removes."""
    counts = lines.totals(session.pk)
    return Preview(session, LoopRecord.objects.filter(session=session).count(), counts.lines, counts.size)


def delete_session(
    project: Project, session_id: str, actor: Actor, *, with_sub_agents: bool = False
) -> list[Deletion]:
    """Delete a session, and on request those of its sub-agents. Raises NotFound."""
    sessions = find(project, [session_id], with_sub_agents=with_sub_agents)
    return [finish(each) for each in begin(project, sessions, actor)]


def begin(project: Project, sessions: Sequence[Session], actor: Actor) -> list[Deletion]:
    """Hide sessions in one transaction; `finish` deletes them."""
    with transaction.atomic():
        project_lock.lock(project.pk)
        here = Session.objects.filter(project=project, pk__in=[each.pk for each in sessions])
        return [_hide(project, each, actor) for each in here.order_by("pk")]


def finish(deletion: Deletion, on_progress: OnProgress = lambda _: None) -> Deletion:
    """Delete what is left of a hidden session; return its row with the counts of what is gone.

    `on_progress` is called with the number of lines that each transaction deleted.
    """
    project, session = deletion.project_id, deletion.session
    overwrite_deleted_bytes()
    if deletion.finished_at is None and lines.has_lines(session):
        for _ in lines.encode_others(project, session, deletion.newest):
            pass
        while lines.has_lines(session):
            on_progress(lines.delete_some(project, session).lines)
    while deletion.finished_at is None:
        with transaction.atomic():
            project_lock.lock(project)
            if not removal.delete_some(session):
                removal.delete_unused_configs(project)
                deletion.finished_at = timezone.now()
                deletion.save(update_fields=["finished_at"])
    return deletion


def resume(project: Project | None = None, *, before: datetime | None = None) -> list[Deletion]:
    """Finish the deletions that were interrupted, or that began before a time; return them."""
    rows = Deletion.objects.filter(finished_at=None).order_by("pk")
    if before is not None:
        rows = rows.filter(requested_at__lt=before)
    return [finish(each) for each in (rows if project is None else rows.filter(project=project))]


def _hide(project: Project, session: Session, actor: Actor) -> Deletion:
    loops = LoopRecord.objects.filter(session=session).values_list("pk", "producer_id", "loop_id")
    own = list(loops)
    loop_ids = {loop_id for _, _, loop_id in own}
    session_id = session.session_id
    removal.file_orphans(project.pk, session.pk, session_id, loop_ids)
    quarantine.delete(session.pk, [session_id, *loop_ids])
    open_streams.forget(project.pk, [session_id, *loop_ids])
    counts = lines.totals(session.pk)
    deletion = Deletion.objects.create(
        project=project,
        session_id=session_id,
        session=session.pk,
        newest=_newest_line(),
        requested_by=actor.name,
        requested_at=timezone.now(),
        loops=len(own),
        lines=counts.lines,
        size=counts.size,
    )
    names = [tombstones.of_session(session_id)]
    for _, producer, loop_id in own:
        names += [tombstones.of_loop(producer, loop_id), tombstones.of_any(loop_id)]
    names += _foreign_names(project, session, loop_ids)
    tombstones.write(project.pk, deletion.pk, names)
    Pin.objects.filter(project=project, session_id=session_id).delete()
    groups = list(ParallelGroupRecord.objects.filter(session=session).values_list("pk", flat=True))
    for listener in _listeners:
        listener(Deleted(project.pk, session.pk, session_id, [pk for pk, _, _ in own], groups))
    touched = removal.hide(project.pk, session.pk)
    gone: Json = {"loops": len(own), "events": counts.lines, "bytes": counts.size}
    audit.record(project, actor, "session.delete", session_id, before=gone)
    transaction.on_commit(partial(invalidation.publish, touched))
    return deletion


def _foreign_names(project: Project, session: Session, loop_ids: set[str]) -> Iterator[tombstones.Name]:
    yield from foreign.forget_producers(session.pk)
    if foreign.has_spans(session.pk):
        yield from foreign.forget_spans(project.pk, session.session_id, loop_ids)


def _newest_line() -> int:
    return int(sql.read("SELECT COALESCE(MAX(id), 0) FROM recorder_journalevent")[0][0])


def overwrite_deleted_bytes() -> None:
    """Have SQLite overwrite with zeros what this connection deletes; PostgreSQL needs VACUUM for that."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA secure_delete = ON")
