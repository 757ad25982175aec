"""HTTP views of the session page and of its recorded lines."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from dashboard.comparison.turn_section import MOST
from dashboard.pages.session import as_of, page
from dashboard.pages.session.conversation.fold_calls import Stretch
from dashboard.pages.session.conversation.items import raw_items
from dashboard.pages.session.conversation.queries import folded_calls
from dashboard.pages.session.event_filters import FILTERS, SESSION, menus
from dashboard.pages.session.events.queries import event_list, lookup, loop_json
from dashboard.pages.session.header.queries import session as header_session
from dashboard.pages.session.params import SessionParams
from dashboard.pages.session.responses import PLAIN, gone_if_pruned, line_or_404
from dashboard.security.access import HtmxRequest, has, member, require, role
from dashboard.security.actor import actor_of
from dashboard.security.shared_view import shared_view
from dashboard.web import links
from dashboard.web.query_params import whole_number
from recorder.access.rights import Right
from recorder.core.records import Json
from recorder.journal.read import Pruned
from recorder.models import EventRecord, LoopRecord, Project, Session
from recorder.operations import audit, retention_pins
from recorder.projection.as_of import NotOfSession

FOLLOWABLE = ("conversation", "events", "compactions")  # tabs that scroll to new content


@require_safe
@member
def session(request: HtmxRequest, project: Project, pk: int) -> HttpResponse:
    """Show a session with its default loop selected."""
    return _page(request, project, pk, None)


@require_safe
@member
def loop(request: HtmxRequest, project: Project, pk: int, loop: int) -> HttpResponse:
    """Show a session with one of its loops selected."""
    return _page(request, project, pk, loop)


def _page(request: HtmxRequest, project: Project, pk: int, loop: int | None) -> HttpResponse:
    params = SessionParams.parse(request.GET)
    try:
        session = header_session.session_of(project.pk, pk, loop or 0)
        with as_of.viewing_as_of(session, params.at):
            context = _context(
                session if params.at is None else header_session.session_of(project.pk, pk), loop, params
            )
    except (Session.DoesNotExist, NotOfSession) as error:
        raise Http404 from error
    except Pruned as gone:
        return render(
            request,
            "session/as_of_gone.html",
            {"gone": gone, "url": links.session(project.slug, pk)},
            status=410,
        )
    if params.tab == "conversation" and params.before is not None and request.htmx:
        return render(
            request, "session/conversation/turns.html", context | {"turns": context["drawn"].get("turn", [])}
        )
    if params.tab == "events" and request.htmx:
        return render(request, "session/events/rows.html", context)
    held = role(request.user, project) if params.at is None else None
    context |= {
        "may_pin": has(held, project, Right.PIN_SESSIONS),
        "may_write": has(held, project, Right.WRITE_NOTES),
        "is_selectable": params.at is None and shared_view(request) is None,
        "rail_url": _rail_url(request, session, context["loop"], params),
    }
    return render(request, "session/detail.html", context)


def _rail_url(request: HtmxRequest, session: Session, loop: int, params: SessionParams) -> str:
    """Return the URL of this page with the rail closed if it is open, and open if it is closed.

    It names the loop, as the address of the page does.
    """
    query = request.GET.copy()
    query.pop("notes", None)
    if not params.notes:
        query["notes"] = "all"
    path = links.loop(session.project.slug, session.pk, loop).partition("?")[0] if loop else request.path
    return f"{path}?{query.urlencode()}" if query else path


def _context(session: Session, loop: int | None, params: SessionParams) -> dict[str, Any]:
    """Return the template context with all panels rendered; the template runs no queries."""
    if loop is None:
        loop = header_session.default_loop(session.pk, params.at)
    elif params.at is not None and not header_session.has_loop(session.pk, loop):
        loop = None
    shown = (
        page.listing(session, loop or 0, params)
        if params.tab == "events"
        else page.conversation(session, loop or 0, params)
    )
    context: dict[str, Any] = {
        "project": session.project,
        "page": "sessions",
        "session": session,
        "loop": loop or 0,
        "params": params,
        "shown": shown,
        "earlier": shown.earlier,
        "drawn": shown.drawn,
        "compared_max": MOST,
        "downloads": _downloads(session),
        "note_url": links.new_note(session.project.slug, session.pk, loop=loop or ""),
        "ws_url": page.socket(session, shown, params),
        "tab": "" if params.tab == "conversation" else params.tab,
        "is_followable": shown.is_last and params.tab in FOLLOWABLE and params.at is None,
    }
    if params.at is not None:
        context |= {"moment": as_of.moment(session.pk, params.at)}
    if params.tab == "events":
        context |= _filters(session, loop or 0, params)
    if params.tab == "json" and loop:
        context["record"] = loop_json.document(session, loop, params.of)
        context["head_url"] = links.loop(session.project.slug, session.pk, loop)
    return context


def _downloads(session: Session) -> list[tuple[str, str]]:
    """Return name and URL of each file that a session can be saved as; none once its bodies are pruned."""
    if session.pruned_on is not None:
        return []
    shapes = {
        "HTML, one file to read": {"as": "html"},
        "OpenTelemetry spans, JSON": {"as": "otlp"},
        "OpenTelemetry spans, protobuf": {"as": "otlp", "encoding": "protobuf"},
        "phi-core session, JSON": {"as": "phi-session"},
    }
    slug, key = session.project.slug, session.session_id
    files = [(name, links.session_export(slug, key, **query)) for name, query in shapes.items()]
    return [*files, ("Recorded lines, NDJSON", links.session_lines(slug, key))]


def _filters(session: Session, loop: int, params: SessionParams) -> dict[str, object]:
    slug, filters = session.project.slug, params.events
    path = links.as_of(slug, session.pk, None, loop=loop)
    return {
        "bar": FILTERS.bar(filters, f"{path}#loop", menus(filters)),
        "loop_url": path + filters.but(scope="").query,
        "session_url": path + filters.but(scope=SESSION).query,
        "lines_url": links.session_lines(slug, session.session_id, envelope="1" if session.pruned_on else ""),
    }


@require_safe
@member
@gone_if_pruned
def loop_record(request: HttpRequest, project: Project, pk: int, loop: int) -> HttpResponse:
    """Return a loop as a JSON document, or a brief of its session as text."""
    if not header_session.is_in_project(project.pk, pk) or not header_session.has_loop(pk, loop):
        raise Http404
    params, session = SessionParams.parse(request.GET), header_session.session_of(project.pk, pk)
    try:
        with as_of.viewing_as_of(session, params.at):
            text = loop_json.text(session, loop, params.of)
    except (NotOfSession, LoopRecord.DoesNotExist) as error:
        raise Http404 from error
    after: Json = {"as": params.of, "loop": header_session.loop_id(loop)}
    audit.record(project, actor_of(request), "session.export", session.session_id, after=after)
    return HttpResponse(text, content_type=PLAIN if params.of == "brief" else "application/json")


@require_safe
@member
def event(_request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Redirect to the page that shows a recorded event."""
    try:
        place = lookup.place(project.pk, pk)
    except EventRecord.DoesNotExist as error:
        raise Http404 from error
    if place.session is None:
        return HttpResponseRedirect(links.orphan(project.slug, pk))
    loop = place.loop or header_session.default_loop(place.session)
    if loop is None:
        return HttpResponseRedirect(links.session(project.slug, place.session))
    scope = "" if place.loop else "session"
    url = links.loop(project.slug, place.session, loop, tab="events", scope=scope, around=pk)
    return HttpResponseRedirect(f"{url}#event-{pk}")


@require_safe
@member
@gone_if_pruned
def event_raw(_request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Return a recorded line byte for byte."""
    return HttpResponse(line_or_404(lookup.line, project, pk), content_type="text/plain; charset=utf-8")


@require_safe
@member
def loop_deltas(request: HttpRequest, project: Project, pk: int, loop: int) -> HttpResponse:
    """Return the streaming deltas directly before an event."""
    before = whole_number(request.GET.get("before", ""))
    if (
        before is None
        or not header_session.is_in_project(project.pk, pk)
        or not header_session.has_loop(pk, loop)
    ):
        raise Http404
    deltas = event_list.deltas(event_list.Scope(pk, loop), before, project.slug)
    context = {"id": f"session-event-{before}-deltas", "deltas": deltas}
    return render(request, "session/events/deltas.html", context)


@require_safe
@member
@gone_if_pruned
def turn_calls(request: HttpRequest, project: Project, pk: int, loop: int, turn: int) -> HttpResponse:
    """Return a folded group of tool calls of a turn."""
    first, end = (whole_number(request.GET.get(name, "")) for name in ("first", "end"))
    if not header_session.is_in_project(project.pk, pk) or first is None or end is None:
        raise Http404
    params, session = SessionParams.parse(request.GET), header_session.session_of(project.pk, pk)
    group = Stretch(first, end)
    try:
        with as_of.viewing_as_of(session, params.at):
            inside = folded_calls.group_content(pk, loop, turn, group)
    except (NotOfSession, LookupError) as error:
        raise Http404 from error
    items = raw_items(inside) if params.is_raw else inside
    context = {"id": f"{folded_calls.dom_id(loop, turn, group)}-inside", "items": items}
    return render(request, "session/conversation/tool_calls.html", context)


@require_safe
@member
@gone_if_pruned
def turn_passage(request: HttpRequest, project: Project, pk: int, loop: int, turn: int) -> HttpResponse:
    """Return a folded passage of messages and notes of a turn."""
    first, last = (whole_number(request.GET.get(name, "")) for name in ("first", "last"))
    if not header_session.is_in_project(project.pk, pk) or first is None or last is None:
        raise Http404
    params, session = SessionParams.parse(request.GET), header_session.session_of(project.pk, pk)
    try:
        with as_of.viewing_as_of(session, params.at):
            inside = folded_calls.passage_content(pk, loop, turn, first, last)
    except (NotOfSession, LookupError) as error:
        raise Http404 from error
    items = raw_items(inside) if params.is_raw else inside
    context = {"id": f"passage-{first}-{last}-inside", "items": items}
    return render(request, "session/conversation/tool_calls.html", context)


@require_POST
@member
def pin(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Exclude a session from retention pruning, or include it again when `pinned` is empty."""
    user = require(request, project, Right.PIN_SESSIONS)
    try:
        session = header_session.session_of(project.pk, pk)
    except Session.DoesNotExist as error:
        raise Http404 from error
    is_pinned = bool(request.POST.get("pinned"))
    with transaction.atomic():
        if is_pinned:
            retention_pins.pin(session, user.get_username())
        else:
            retention_pins.unpin(session)
        action: audit.Action = "session.pin" if is_pinned else "session.unpin"
        audit.record(project, actor_of(request), action, session.session_id)
    return redirect(links.session(project.slug, pk))
