"""Views of the deletion of sessions: what will be deleted, and what was. For admins alone."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.pages.sessions.queries import deletion as queries
from dashboard.security.access import member, require
from dashboard.security.actor import actor_of
from dashboard.web import links
from dashboard.web.query_params import whole_number
from recorder.access.rights import Right
from recorder.models import Project
from recorder.operations import deletion
from recorder.operations.deletion import Preview

MOST = 200  # sessions of one request


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
def delete(request: HttpRequest, project: Project) -> HttpResponse:
    """List what is deleted with the sessions `of`, and delete them once that is confirmed."""
    require(request, project, Right.DELETE_SESSIONS)
    params = request.POST if request.method == "POST" else request.GET
    if "done" in params:
        return _result(request, project, _numbers(params, "done"))
    choice = queries.wanted(project, _numbers(params, "of"), limit=MOST)
    if not choice.chosen:
        raise Http404
    going = [*choice.chosen, *(choice.sub_agents if "sub_agents" in params else ())]
    if request.method != "POST":
        return _confirmation(request, project, choice, going)
    if params.get("confirm", "").strip() not in (str(len(going)), project.slug):
        return _confirmation(request, project, choice, going, status=400)
    begun = deletion.begin(project, [item.session for item in going], actor_of(request))
    done = [deletion.finish(item).pk for item in begun]
    query = QueryDict(mutable=True)
    query.setlist("done", map(str, done))
    return redirect(f"{reverse('sessions-delete', args=[project.slug])}?{query.urlencode()}")


def _confirmation(
    request: HttpRequest,
    project: Project,
    choice: queries.Wanted,
    going: Sequence[Preview],
    status: int = 200,
) -> HttpResponse:
    context = {
        "project": project,
        "page": "sessions",
        "ws_url": links.live(project.slug, "settings"),
        "found": choice,
        "going": going,
        "with_sub_agents": len(going) > len(choice.chosen),
        "number": len(going),
        "loops": sum(preview.loops for preview in going),
        "lines": sum(preview.lines for preview in going),
        "size": sum(preview.size for preview in going),
        "is_wrong": status != 200,
    }
    return render(request, "sessions/delete.html", context, status=status)


def _result(request: HttpRequest, project: Project, pks: Sequence[int]) -> HttpResponse:
    done = queries.deletions(project, pks)
    if not done:
        raise Http404
    context = {
        "project": project,
        "page": "sessions",
        "ws_url": links.live(project.slug, "settings"),
        "done": done,
        "number": len(done),
        "loops": sum(report.loops for report in done),
        "lines": sum(report.lines for report in done),
        "size": sum(report.size for report in done),
    }
    return render(request, "sessions/deleted.html", context)


def _numbers(params: QueryDict, name: str) -> list[int]:
    numbers = (whole_number(word) for word in params.getlist(name))
    return list(dict.fromkeys(number for number in numbers if number is not None))
