"""Views of the comparison of sessions, and of loops of one session."""

from http import HTTPStatus

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dashboard.pages.compare.figures import Comparison, comparison
from dashboard.pages.compare.params import CompareParams
from dashboard.pages.compare.queries import loops as loop_queries
from dashboard.pages.compare.queries import sessions as session_queries
from dashboard.security.access import HtmxRequest, member
from dashboard.web import links
from recorder.models import LoopRecord, Project, Session


@require_safe
@member
@vary_on_headers("HX-Request")
def sessions(request: HtmxRequest, project: Project) -> HttpResponse:
    """Show two to four sessions side by side, each one of the project; to htmx, the rows `row` selects."""
    params = CompareParams.parse(request.GET)
    context = {"project": project, "page": "sessions", "params": params, "several": "sessions"}
    if not params.is_comparison:
        return _not_compared(request, context)
    try:
        found = comparison("session", session_queries.sides(project, params.of), params)
    except Session.DoesNotExist as error:
        raise Http404 from error
    if len(params.of) == 2:
        one, other = params.of
        context["flame_url"] = links.flame(project.slug, one, **{"with": other})
    return _comparison_response(request, context, found)


@require_safe
@member
@vary_on_headers("HX-Request")
def loops(request: HtmxRequest, project: Project, pk: int) -> HttpResponse:
    """Show two to four loops of a session side by side; to htmx, the rows `row` selects."""
    params = CompareParams.parse(request.GET)
    try:
        session = loop_queries.session_of(project, pk)
        context = {"project": project, "page": "sessions", "params": params, "session": session}
        context["several"] = "loops"
        if not params.is_comparison:
            return _not_compared(request, context)
        found = comparison("loop", loop_queries.sides(session, params.of), params)
    except (Session.DoesNotExist, LoopRecord.DoesNotExist) as error:
        raise Http404 from error
    return _comparison_response(request, context, found)


def _not_compared(request: HtmxRequest, context: dict[str, object]) -> HttpResponse:
    return render(request, "compare/not_compared.html", context, status=HTTPStatus.BAD_REQUEST)


def _comparison_response(request: HtmxRequest, context: dict[str, object], found: Comparison) -> HttpResponse:
    if request.htmx:
        return render(request, "comparison/loaded_rows.html", {"section": found.turns})
    return render(request, "compare/index.html", context | {"comparison": found})
