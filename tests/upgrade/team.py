"""What people add to recordings, for the upgrade tests: notes, scores, views, links and masking rules."""

from __future__ import annotations

from dataclasses import asdict

from django.contrib.auth.models import User

from recorder.access import saved_views, share_links
from recorder.masking import project_rules
from recorder.models import LoopRecord, Note, Project, SavedView, ScoreDefinition, Session, ShareLink
from recorder.notes import definitions, targets, write
from recorder.operations import audit
from recorder.operations.masking import rules

PARALLEL = "c1b7c5f2-7a3f-4a0f-8f0e-2d5a7be0a111"  # the session of phi-core/03-parallel-judge


def fill(project: Project) -> None:
    """Add notes, a score, a view, a link and a pattern to a project that has the session PARALLEL."""
    admin = User.objects.get(username="admin")
    session = Session.objects.get(project=project, session_id=PARALLEL)
    _notes(project, write.Author("admin", user=admin, is_admin=True), session)
    content = saved_views.Content("state=failed", "-cost", ("title", "cost"))
    view = saved_views.create(
        project, admin, SavedView.Page.SESSIONS, "Failed", SavedView.Visibility.PROJECT, content
    )
    saved_views.make_default(admin, view, is_default=True)
    share_links.issue(project, admin, share_links.Target("session", session.pk), share_links.Terms())
    rules.add_pattern(project, "ticket", "TICKET-[0-9]{6}", audit.COMMAND)


def _notes(project: Project, author: write.Author, session: Session) -> None:
    loop = LoopRecord.objects.filter(session=session, turns__gt=0).order_by("pk")[0]
    turn = targets.find(project.pk, PARALLEL, loop=loop.pk, turn=0)
    note = write.add_note(project.pk, author, targets.find(project.pk, PARALLEL), "Which is cheaper?").note
    write.add_note(project.pk, author, targets.of_note(note), "The second.", parent=note)
    write.resolve(note, author, is_resolved=True)
    definitions.define(project, definitions.Draft("quality", "number", least=1, most=5), "admin")
    write.give_score(project.pk, author, turn, "quality", 4, text="Complete")
    write.add_bookmark(project.pk, author, turn)


def describe(project: Project) -> dict[str, object]:
    """Return these as people see them, by names that never change."""
    notes = Note.objects.filter(project=project).order_by("pk")
    views = SavedView.objects.filter(project=project).order_by("pk")
    links = ShareLink.objects.filter(project=project).order_by("pk")
    of_session = dict(Session.objects.filter(project=project).values_list("pk", "session_id"))
    return {
        "notes": list(
            notes.values_list(
                *("target", "session_id", "loop_id", "run", "turn", "kind", "name", "number"),
                *("text", "source", "author", "resolved_by"),
            )
        ),
        "scores": list(
            ScoreDefinition.objects.filter(project=project)
            .order_by("name")
            .values_list("name", "kind", "least", "most", "created_by")
        ),
        "views": list(
            views.values_list("page", "name", "query", "sort", "columns", "visibility", "position")
        ),
        "links": [[link.kind, of_session.get(link.target), link.secret_hash] for link in links],
        "patterns": [asdict(pattern) for pattern in project_rules.load(project.pk).patterns],
    }
