"""The session page, and the recorded lines behind it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from dashboard import links
from dashboard.access import may, member, require
from dashboard.loops import pages
from dashboard.loops.asked import Asked, whole_number
from dashboard.loops.queries import events, header, lookups, record
from recorder import pins
from recorder.lines import Pruned
from recorder.models import EventRecord, JournalEvent, Membership, Project, Session

PLAIN = "text/plain; charset=utf-8"
KIND_WORDS = (("", "All"), ("turns", "Turns"), ("tools", "Tools"), ("errors", "Errors"))


def may_be_pruned(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer "gone" where a body is asked for that was pruned."""

    @wraps(view)
    def answered(*args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(*args, **kwargs)
        except Pruned as error:
            return HttpResponse(f"{error}\n", status=410, content_type=PLAIN)

    return answered


@require_safe
@member
def session(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Show a session, opened at the loop one most likely wants."""
    return _page(request, project, pk, header.first_loop(pk) or 0)


@require_safe
@member
def loop(request: HttpRequest, project: Project, pk: int, loop: int) -> HttpResponse:
    """Show a session with one of its loops."""
    return _page(request, project, pk, loop)


def _page(request: HttpRequest, project: Project, pk: int, loop: int) -> HttpResponse:
    asked = Asked.parse(request.GET)
    try:
        found = header.session_of(project.pk, pk, loop)
    except Session.DoesNotExist as error:
        raise Http404 from error
    shown = (
        pages.listing(found, loop, asked) if asked.tab == "events" else pages.conversation(found, loop, asked)
    )
    if asked.tab == "conversation" and asked.before is not None and is_htmx(request):
        turns = pages.drawn(shown.page).get("turn", [])
        return render(request, "session/earlier.html", {"earlier": shown.earlier, "turns": turns})
    context = {
        "project": project,
        "page": "sessions",
        "session": found,
        "loop": loop,
        "asked": asked,
        "shown": shown,
        "drawn": pages.drawn(shown.page),
        "ws_url": pages.socket(found, shown, asked),
        "may_pin": may(request.user, project, Membership.Role.MEMBER),
    }
    if asked.tab == "events":
        context |= _filters(found, loop, asked)
    if asked.tab == "json" and loop:
        context["record"] = record.document(found, loop, asked.of)
        context["head_url"] = links.loop(project.slug, pk, loop)
    return render(request, "session/detail.html", context)


def is_htmx(request: HttpRequest) -> bool:
    """Say whether a page asks for a piece of itself."""
    return bool(getattr(request, "htmx", False))


def _filters(found: Session, loop: int, asked: Asked) -> dict[str, object]:
    slug = found.project.slug
    scope = "session" if asked.is_whole else ""
    kind = asked.kind
    return {
        "kinds": [
            (words, links.loop(slug, found.pk, loop, tab="events", scope=scope, kind=name), name)
            for name, words in KIND_WORDS
        ],
        "loop_url": links.loop(slug, found.pk, loop, tab="events", kind=kind),
        "session_url": links.loop(slug, found.pk, loop, tab="events", kind=kind, scope="session"),
        "lines_url": links.session_lines(slug, found.session_id, envelope="1" if found.pruned_on else ""),
    }


@require_safe
@member
@may_be_pruned
def loop_record(request: HttpRequest, project: Project, pk: int, loop: int) -> HttpResponse:
    """Give a loop as a JSON document, or its session in brief as text."""
    if not header.is_of(project.pk, pk) or not header.has_loop(pk, loop):
        raise Http404
    of = Asked.parse(request.GET).of
    text = record.text(header.session_of(project.pk, pk), loop, of)
    return HttpResponse(text, content_type=PLAIN if of == "brief" else "application/json")


@require_safe
@member
def event(_request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Lead to the place of a recorded event."""
    try:
        place = lookups.place(project.pk, pk)
    except EventRecord.DoesNotExist as error:
        raise Http404 from error
    if place.session is None:
        return HttpResponseRedirect(f"{links.integrity(project.slug)}#event-{pk}")
    loop = place.loop or header.first_loop(place.session)
    if loop is None:
        return HttpResponseRedirect(links.session(project.slug, place.session))
    scope = "" if place.loop else "session"
    url = links.loop(project.slug, place.session, loop, tab="events", scope=scope, at=pk)
    return HttpResponseRedirect(f"{url}#event-{pk}")


@require_safe
@member
@may_be_pruned
def event_raw(_request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Give a recorded line byte for byte."""
    return HttpResponse(found_line(lookups.line, project, pk), content_type="text/plain; charset=utf-8")


@require_safe
@member
def loop_deltas(request: HttpRequest, project: Project, pk: int, loop: int) -> HttpResponse:
    """Give the streaming deltas right before an event."""
    before = whole_number(request.GET.get("before", ""))
    if before is None or not header.is_of(project.pk, pk) or not header.has_loop(pk, loop):
        raise Http404
    found = events.deltas(events.Scope(pk, loop), before, project.slug)
    context = {"id": f"session-event-{before}-deltas", "deltas": found}
    return render(request, "session/deltas.html", context)


def found_line(look_up: Callable[[int, int], bytes], project: Project, pk: int) -> bytes:
    try:
        return look_up(project.pk, pk)
    except JournalEvent.DoesNotExist as error:
        raise Http404 from error


@require_POST
@member
def pin(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Keep a session's bodies whatever their age, or with `pinned` empty let them go when they are due."""
    user = require(request, project, Membership.Role.MEMBER)
    try:
        found = header.session_of(project.pk, pk)
    except Session.DoesNotExist as error:
        raise Http404 from error
    if request.POST.get("pinned"):
        pins.pin(found, user.get_username())
    else:
        pins.unpin(found)
    return redirect(links.session(project.slug, pk))
