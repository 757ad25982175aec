"""Reads notes, scores and bookmarks for pages, in the present and as of an event.

As of an event only the entries stand that are anchored at or before it, as they were then. Notes are
no records, so the as-of overlay does not hide them: every query here goes through `standing`, which leaves
them out of share links.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, QuerySet

from dashboard.security.shared_view import are_notes_hidden
from dashboard.web import links
from recorder.models import LoopRecord, Note, ParallelGroupRecord, ScoreDefinition, Session
from recorder.notes import mentions, revisions
from recorder.notes.definitions import BUTTONS

TurnKey = tuple[str, str, int, int]  # session_id, loop_id, run, position of the turn
EXCERPT = 280  # characters of a note in the rail, where its place shows the whole
RAIL = 100  # entries of a session that the rail shows
MARKS = 3  # scores beside the number of a turn
PER_TURN = 20  # entries that a turn shows
SCALE = BUTTONS  # a larger range has no bar


@dataclass(frozen=True, slots=True)
class Entry:
    """One note, score or bookmark as pages show it; equal entries render equally."""

    pk: int
    kind: str
    source: str
    author: str
    text: str
    name: str
    value: str
    scale: tuple[bool, ...]  # of a number with a short range: which of its values are reached
    most: str
    at: datetime
    edited_at: datetime | None
    resolved_by: str
    place: str  # the target: session, loop, turn 3, event
    url: str  # the target on the session's page
    own_url: str  # the page of the entry
    names: tuple[str, ...]  # members that the text mentions
    replies: tuple[Entry, ...] = ()
    is_whole: bool = True
    is_in_turn: bool = False

    @property
    def rail_name(self) -> str:
        """Return the prefix of its DOM id in the rail; an entry on a turn has its own place."""
        return "rail-" if self.is_in_turn else "note-"

    @property
    def initial(self) -> str:
        return self.author[:1].upper() or "?"

    @property
    def icon(self) -> str:
        """Return the icon of its author, "" for a person, who has a letter."""
        return {"code": "terminal", "judge": "scale"}.get(self.source, "")


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of a turn beside its number: how many notes, its scores, whether it is bookmarked."""

    notes: int
    first: int  # primary key of the first note
    scores: Sequence[Entry]
    bookmarks: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class Rail:
    """The rail of a session; root of the panel session/notes/rail."""

    entries: Sequence[Entry]
    shown: str
    filters: Sequence[tuple[str, str, int]]  # name, `notes=` of the URL, number
    total: int
    url: str

    @property
    def hidden(self) -> int:
        return max(0, {name: n for _, name, n in self.filters}[self.shown] - len(self.entries))


def marks(entries: Sequence[Entry]) -> Marks:
    """Return the marks of some entries, of at most MARKS scores."""
    notes = [entry for entry in entries if entry.kind == "note"]
    return Marks(
        len(notes),
        notes[0].pk if notes else 0,
        [entry for entry in entries if entry.kind == "score"][:MARKS],
        [entry for entry in entries if entry.kind == "bookmark"],
    )


def standing(rows: QuerySet[Note]) -> QuerySet[Note]:
    """Return the entries that stand at the moment of a page; none where notes are hidden."""
    if are_notes_hidden():
        return rows.none()
    at = links.as_of_event()
    return rows if at is None else rows.filter(event__lte=at)


def of_turns(project: int, keys: Collection[TurnKey]) -> Mapping[TurnKey, tuple[Entry, ...]]:
    """Return the entries on turns and on their events. Five queries at most."""
    if not keys:
        return {}
    sessions, loops = {key[0] for key in keys}, {key[1] for key in keys}
    turns = {key[3] for key in keys}
    rows = Note.objects.filter(
        project=project, session_id__in=sessions, loop_id__in=loops, turn__in=turns, parent=None
    )
    found: dict[TurnKey, list[Note]] = {}
    for row in standing(rows).select_related("project").order_by("event", "pk"):
        key = (row.session_id, row.loop_id, row.run, row.turn or 0)
        if key in keys and len(found.setdefault(key, [])) < PER_TURN:
            found[key].append(row)
    made = _entries(project, [row for group in found.values() for row in group], is_whole=True)
    return {key: tuple(made[row.pk] for row in group) for key, group in found.items()}


@dataclass(frozen=True, slots=True)
class RailOf:
    """The query of the panel session/notes/rail; `shown` is all, notes, scores or bookmarks."""

    shown: str = "all"
    loop: int = 0  # selected on the page

    def __call__(self, pks: Collection[int]) -> Mapping[int, Rail]:
        """Return the rails of sessions. Six queries a session."""
        sessions = Session.objects.filter(pk__in=pks).select_related("project")
        return {session.pk: self._rail(session) for session in sessions}

    def _rail(self, session: Session) -> Rail:
        rows = standing(
            Note.objects.filter(project=session.project_id, session_id=session.session_id, parent=None)
        )
        counts = dict(rows.order_by().values_list("kind").annotate(n=Count("pk")))
        kind = KINDS.get(self.shown)
        shown = rows.filter(kind=kind) if kind else rows
        ordered = list(shown.select_related("project").order_by(*PLACE)[:RAIL])
        made = _entries(session.project_id, ordered, is_whole=False)
        slug = session.project.slug
        url = links.loop(slug, session.pk, self.loop) if self.loop else links.session(slug, session.pk)
        total = sum(counts.values())
        filters = [("All", "all", total)]
        filters += [(name.capitalize(), name, counts.get(kind, 0)) for name, kind in KINDS.items()]
        return Rail([made[row.pk] for row in ordered], self.shown, filters, total, url)


@dataclass(frozen=True, slots=True)
class Total:
    """The number of entries of a session; root of the panel session/notes/count."""

    number: int


def totals(pks: Collection[int]) -> Mapping[int, Total]:
    """Return the numbers of entries of sessions. Two queries."""
    names = {
        pk: (project, key)
        for pk, project, key in Session.objects.filter(pk__in=pks).values_list("pk", "project", "session_id")
    }
    keys = {key for _, key in names.values()}
    projects = {project for project, _ in names.values()}
    rows = standing(Note.objects.filter(project__in=projects, session_id__in=keys, parent=None))
    counts = {
        (project, key): n
        for project, key, n in rows.order_by().values_list("project", "session_id").annotate(n=Count("pk"))
    }
    return {pk: Total(counts.get(name, 0)) for pk, name in names.items()}


def of_loops(loops: Collection[LoopRecord]) -> Mapping[int, int]:
    """Return how many entries there are on loops and inside them, by loop. One query."""
    names = {loop.loop_id for loop in loops}
    of_project = {loop.session.project_id for loop in loops}
    rows = standing(Note.objects.filter(project__in=of_project, loop_id__in=names, parent=None))
    found = rows.order_by().values_list("session_id", "loop_id", "run").annotate(n=Count("pk"))
    counts = {(session, loop, run): n for session, loop, run, n in found}
    return {
        loop.pk: n for loop in loops if (n := counts.get((loop.session.session_id, loop.loop_id, loop.run)))
    }


@dataclass(frozen=True, slots=True)
class OfEvaluation:
    """The entries on an evaluation; root of the panel evaluations/notes."""

    entries: Sequence[Entry]
    note_url: str


def of_groups(pks: Collection[int]) -> Mapping[int, OfEvaluation]:
    """Return the entries on evaluations. Six queries an evaluation."""
    groups = ParallelGroupRecord.objects.filter(pk__in=pks).select_related("session__project")
    return {group.pk: _of_evaluation(group) for group in groups.defer("loop_ids", "named")}


def _of_evaluation(group: ParallelGroupRecord) -> OfEvaluation:
    session = group.session
    rows = Note.objects.filter(
        project=session.project_id, session_id=session.session_id, group=group.ordinal, parent=None
    )
    ordered = list(standing(rows).select_related("project").order_by("pk")[:RAIL])
    made = _entries(session.project_id, ordered, is_whole=True)
    url = links.new_note(session.project.slug, session.pk, evaluation=group.pk)
    return OfEvaluation([made[row.pk] for row in ordered], url)


def all_of_session(session: Session) -> Sequence[Entry]:
    """Return all entries of a session in order of place. Five queries."""
    rows = Note.objects.filter(project=session.project_id, session_id=session.session_id, parent=None)
    ordered = list(standing(rows).select_related("project").order_by(*PLACE))
    made = _entries(session.project_id, ordered, is_whole=True)
    return [made[row.pk] for row in ordered]


def one(note: Note) -> Entry:
    """Return an entry with its replies. Three queries."""
    return _entries(note.project_id, [note], is_whole=True)[note.pk]


PLACE = (F("loop").asc(nulls_first=True), F("turn").asc(nulls_first=True), "event", "pk")
KINDS = {"notes": "note", "scores": "score", "bookmarks": "bookmark"}


def _entries(project: int, rows: Sequence[Note], *, is_whole: bool) -> dict[int, Entry]:
    """Return entries by primary key, with their replies, definitions and the members they mention."""
    if not rows:
        return {}
    replies: dict[int, list[Note]] = {}
    of = [row.pk for row in rows if row.kind == Note.Kind.NOTE]
    for reply in standing(Note.objects.filter(parent__in=of)).select_related("project").order_by("pk"):
        replies.setdefault(reply.parent_id or 0, []).append(reply)
    all_rows = [*rows, *(reply for group in replies.values() for reply in group)]
    if (at := links.as_of_event()) is not None:
        revisions.restore(all_rows, at)
    texts = [row.text for row in all_rows]
    known = frozenset(mentions.members(project)) if any("@" in text for text in texts) else frozenset()
    context = _Context(_sessions(project, rows), _definitions(project, rows), known)
    made = {}
    for row in rows:
        answers = [_entry(reply, context, is_whole=True) for reply in replies.get(row.pk, ())]
        made[row.pk] = _entry(row, context, is_whole=is_whole, replies=tuple(answers))
    return made


@dataclass(frozen=True, slots=True)
class _Context:
    """The records shown with entries: sessions, score definitions, and the names of the members."""

    sessions: Mapping[str, int]
    definitions: Mapping[str, ScoreDefinition]
    members: Collection[str]


def _definitions(project: int, rows: Sequence[Note]) -> Mapping[str, ScoreDefinition]:
    names = {row.name for row in rows if row.name}
    found = ScoreDefinition.objects.filter(project=project, name__in=names) if names else ()
    return {definition.name: definition for definition in found}


def _sessions(project: int, rows: Sequence[Note]) -> Mapping[str, int]:
    ids = {row.session_id for row in rows}
    return dict(Session.objects.filter(project=project, session_id__in=ids).values_list("session_id", "pk"))


def _entry(row: Note, context: _Context, *, is_whole: bool, replies: tuple[Entry, ...] = ()) -> Entry:
    definition, session = context.definitions.get(row.name), context.sessions.get(row.session_id)
    is_short = not is_whole and row.target in ("turn", "event") and len(row.text) > EXCERPT
    slug, url = row.project.slug, ""
    if session is not None:
        url = links.note(slug, session, row.pk, loop=row.loop, turn=row.turn, evaluation=None)
    return Entry(
        pk=row.pk,
        kind=row.kind,
        source=row.source,
        author=row.author,
        text=f"{row.text[:EXCERPT].rstrip()} …" if is_short else row.text,
        name=row.name,
        value=_value(row.value),
        scale=_scale(definition, row.number),
        most="" if definition is None or definition.most is None else f"{definition.most:g}",
        at=row.created_at,
        edited_at=row.edited_at,
        resolved_by=row.resolved_by,
        place=_place(row),
        url=url,
        own_url=links.note_page(slug, row.pk),
        names=tuple(mentions.mentioned(row.text, context.members)),
        replies=replies,
        is_whole=not is_short,
        is_in_turn=row.turn is not None,
    )


def _place(row: Note) -> str:
    if row.turn is not None:
        return f"turn {row.turn + 1}" if row.target == "turn" else f"event in turn {row.turn + 1}"
    return str(Note.Target(row.target).label).lower()


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else "" if value is None else str(value)


def _scale(definition: ScoreDefinition | None, number: float | None) -> tuple[bool, ...]:
    if definition is None or definition.kind != "number" or number is None:
        return ()
    least, most = definition.least, definition.most
    if least is None or most is None or most - least >= SCALE or least != int(least) or most != int(most):
        return ()
    return tuple(step <= number for step in range(int(least), int(most) + 1))
