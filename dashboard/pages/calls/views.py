"""Views of the tool calls of a project and of the turns of a session."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.pages.calls.params import FILTERS, USUAL, Calls, Turns
from dashboard.pages.calls.queries import calls as call_queries
from dashboard.pages.calls.queries import download
from dashboard.pages.calls.queries import turns as turn_queries
from dashboard.query_conditions.box import fault_of, query_box
from dashboard.security.access import member
from dashboard.security.list_exports import exports
from dashboard.web import links
from dashboard.web.lists.download import Download, Suffix, respond
from dashboard.web.lists.heads import heads
from dashboard.web.lists.period_cookie import remembers_period
from dashboard.web.query_params import whole_number
from recorder.models import Project, Session

CALL_COLUMNS = {
    "tool": "Tool",
    "session": "Session",
    "errors": "State",
    "duration": "Duration",
    "when": "When",
}
TURN_COLUMNS = {
    "turn": "Turn",
    "agent": "Agent",
    "model": "Model",
    "cost": "Cost",
    "tokens": "Tokens",
    "duration": "Time",
    "tools": "Tools",
    "errors": "Errors",
    "answer": "Answer",
}


@require_safe
@member
@remembers_period(FILTERS.windows, USUAL)
def calls(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the tool calls of a project that match the query string, and their tools."""
    address = Calls.parse(request.GET, request.user.pk)
    found = call_queries.call_list(project, address, timezone.now())
    context = {
        "project": project,
        "page": "calls",
        "found": found,
        "heads": heads(address, CALL_COLUMNS, frozenset(("tool", "session"))),
        "most": call_queries.SESSIONS,
        "download": links.page("calls", project.slug),
        "query": address.but().query,
        "bar": FILTERS.bar(
            address,
            links.page("calls", project.slug),
            search=query_box("Search tool calls", address, project.slug),
        ),
    }
    return render(request, "calls/index.html", context)


@require_safe
@member
def turns(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Show the turns of a session in any order; `turn` redirects to the turn with that number."""
    session = _session(project, pk)
    number = whole_number(request.GET.get("turn", ""))
    if number and (url := turn_queries.nth(project.slug, session, number)):
        return redirect(url)
    address = Turns.parse(request.GET)
    context = {
        "project": project,
        "page": "sessions",
        "session": session,
        "session_url": links.session(project.slug, session.pk),
        "missing": number,
        "found": turn_queries.turn_list(project.slug, session, address),
        "heads": heads(address, TURN_COLUMNS, frozenset(("agent", "model", "answer"))),
        "notes": address.notes,
        "query": address.but().query,
    }
    return render(request, "calls/turns.html", context)


@require_safe
@member
@exports("calls")
def download_calls(request: HttpRequest, project: Project, suffix: Suffix) -> HttpResponseBase:
    """Download all tool calls that match the query string."""
    address = Calls.parse(request.GET, request.user.pk)
    file = Download("calls", project.slug, address, download.CALLS, fault_of(address.q))
    return respond(request, file, download.call_chunks(project, address, timezone.now()), suffix)


@require_safe
@member
@exports("turns")
def download_turns(request: HttpRequest, project: Project, pk: int, suffix: Suffix) -> HttpResponseBase:
    """Download all turns of a session."""
    session, address = _session(project, pk), Turns.parse(request.GET)
    file = Download("turns", project.slug, address, download.TURNS, session=session.session_id)
    return respond(request, file, download.turn_chunks(project.slug, session, address), suffix)


def _session(project: Project, pk: int) -> Session:
    """Return a session of the project. Raises Http404."""
    try:
        return turn_queries.session_of(project.pk, pk)
    except Session.DoesNotExist as error:
        raise Http404 from error
