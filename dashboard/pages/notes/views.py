"""HTTP views that write notes, scores and bookmarks, and show one note.

A form works without JavaScript: it answers a page, and what was sent redirects to its place. With htmx the
same URLs answer the fragment for the dialog of the session page, and 204 once the entry is written.
"""

from __future__ import annotations

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from dashboard.notes.queries import entries as notes
from dashboard.pages.notes import queries
from dashboard.pages.notes.params import Kind, NotesParams
from dashboard.security.access import HtmxRequest, may, member, require, rights
from dashboard.security.actor import actor_of
from dashboard.web import links
from dashboard.web.errors import refused
from dashboard.web.query_params import whole_number
from recorder.access.rights import Right
from recorder.models import Note, Project, Session
from recorder.notes import mentions, several, targets, write
from recorder.notes.errors import NotAllowed, NoTarget, Refused
from recorder.notes.targets import Target
from recorder.notes.write import Author
from recorder.operations.audited.notes import delete_note


@require_http_methods(["GET", "HEAD", "POST"])
@member
def new(request: HtmxRequest, project: Project, pk: int) -> HttpResponse:
    """Show the form of an entry, or write what was sent."""
    author, params = _author(request, project), NotesParams.parse(request.GET)
    session = queries.session_of(project, pk)
    if session is None:
        raise Http404
    try:
        target = queries.target_of(session, params)
    except NoTarget as error:
        raise Http404 from error
    fault = ""
    if request.method == "POST":
        try:
            return _after_write(
                request, project, session, _write(request.POST, project, author, target, params)
            )
        except Refused as error:
            fault = str(error)
    context = {
        "project": project,
        "page": "sessions",
        "session": session,
        "form": queries.form(project, session, params, target),
        "sent": request.POST,
        "may": rights(request.user, project),
        "fault": fault,
    }
    return render(request, "notes/form.html" if request.htmx else "notes/new.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@member
def on_several(request: HtmxRequest, project: Project, kind: Kind) -> HttpResponse:
    """Show the form of an entry on each of the sessions `of`, write it, or show what was written."""
    author = _author(request, project)
    pks = [pk for word in request.GET.getlist("of") if (pk := whole_number(word)) is not None]
    if len(set(pks)) > several.MOST:
        return refused(request, f"At most {several.MOST} sessions can be selected for this.")
    sessions = queries.sessions_of(project, pks)
    if not sessions:
        raise Http404
    params, fault = NotesParams(kind=kind, name=NotesParams.parse(request.GET).name), ""
    form = queries.form_of_several(project, sessions, params)
    if request.method == "POST":
        try:
            several.write_on_each(
                project.pk,
                [each.session_id for each in sessions],
                lambda target: _write(request.POST, project, author, target, params),
            )
            return redirect(f"{form.url}&done=1")
        except Refused as error:
            fault = str(error)
    context = {
        "project": project,
        "page": "sessions",
        "sessions": sessions,
        "number": len(sessions),
        "form": form,
        "sent": request.POST,
        "may": rights(request.user, project),
        "fault": fault,
        "is_done": request.method != "POST" and "done" in request.GET,
        "list_url": links.sessions(project.slug),
    }
    return render(request, "notes/selected.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@member
def note(request: HtmxRequest, project: Project, pk: int) -> HttpResponse:
    """Show one note with its replies and forms; change, answer, resolve or delete it."""
    found = queries.note_of(project, pk)
    if found is None:
        raise Http404
    fault = ""
    if request.method == "POST":
        try:
            return _change(request, project, found)
        except Refused as error:
            fault = str(error)
    if request.user.pk:
        mentions.mark_read(
            project.pk, request.user.pk, [found.pk, *found.replies.values_list("pk", flat=True)]
        )
    may_write = may(request.user, project, Right.WRITE_NOTES)
    author = _author(request, project) if may_write else Author("")
    context = {
        "project": project,
        "page": "sessions",
        "note": found,
        "entry": notes.one(found),
        "may_write": may_write,
        "may_edit": may_write and (author.is_admin or write.is_own(found, author)),
        "members": sorted(mentions.members(project.pk)) if may_write else [],
        "fault": fault,
    }
    return render(request, "notes/thread.html" if request.htmx else "notes/detail.html", context)


def _author(request: HtmxRequest, project: Project) -> Author:
    user = require(request, project, Right.WRITE_NOTES)
    return Author(user.get_username(), user=user, is_admin=may(user, project, Right.CHANGE_ALL_NOTES))


def _write(sent: QueryDict, project: Project, author: Author, target: Target, params: NotesParams) -> Note:
    text = _text(sent)
    if params.kind == "bookmark":
        return write.add_bookmark(project.pk, author, target, text).note
    if params.kind == "score":
        name, value = sent.get("name", ""), sent.get("value", "")
        return write.give_score(project.pk, author, target, name, value, text=text, is_typed=False).note
    return write.add_note(project.pk, author, target, text).note


def _change(request: HtmxRequest, project: Project, note: Note) -> HttpResponse:
    author, sent = _author(request, project), request.POST
    action = sent.get("action", "")
    reply = sent.get("of", "")
    of = queries.reply_of(note, whole_number(reply) or 0) if reply else note
    if of is None:
        raise Http404
    try:
        match action:
            case "reply":
                write.add_note(project.pk, author, targets.of_note(note), _text(sent), parent=note)
            case "edit":
                write.edit(of, author, text=_text(sent))
            case "resolve" | "reopen":
                write.resolve(note, author, is_resolved=action == "resolve")
            case "delete":
                session = queries.session_by_id(project, note)
                delete_note(project, of, author, actor_of(request))
                if of is note:
                    return _to_page(request, links.session(project.slug, session.pk) if session else "/")
            case _:
                raise Http404
    except NotAllowed:
        return render(request, "403.html", {"project": project}, status=403)
    return _to_page(request, links.note_page(project.slug, note.pk))


def _after_write(request: HtmxRequest, project: Project, session: Session, note: Note) -> HttpResponse:
    evaluation = NotesParams.parse(request.GET).evaluation
    url = links.note(project.slug, session.pk, note.pk, loop=note.loop, turn=note.turn, evaluation=evaluation)
    return _to_page(request, url)


def _to_page(request: HtmxRequest, url: str) -> HttpResponse:
    return HttpResponse(status=204) if request.htmx else redirect(url)


def _text(sent: QueryDict) -> str:
    return sent.get("text", "").replace("\r\n", "\n")
