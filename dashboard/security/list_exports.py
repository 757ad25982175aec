"""Records in the audit log that a list was downloaded, from the response of the view that made the file."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from dashboard.security.actor import actor_of
from recorder.core.records import Json
from recorder.models import Project
from recorder.operations import audit

QUERY_MAX = 2_000  # characters that an entry keeps
_SUFFIX = re.compile(r'^attachment; filename="[^"]*\.(\w+)"$')

P = ParamSpec("P")
R = TypeVar("R", bound=HttpRequest)


def exports(
    name: str,
) -> Callable[
    [Callable[Concatenate[R, Project, P], HttpResponseBase]],
    Callable[Concatenate[R, Project, P], HttpResponseBase],
]:
    """Decorate a view that may answer a file of the list `name`: record it, with format and query string."""

    def decorate(
        view: Callable[Concatenate[R, Project, P], HttpResponseBase],
    ) -> Callable[Concatenate[R, Project, P], HttpResponseBase]:
        @wraps(view)
        def audited(request: R, project: Project, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            response = view(request, project, *args, **kwargs)
            file = _SUFFIX.match(response.headers.get("Content-Disposition", ""))
            if file and response.status_code == 200 and request.method != "HEAD":
                after: Json = {"as": file[1], "query": request.META.get("QUERY_STRING", "")[:QUERY_MAX]}
                audit.record(project, actor_of(request), "export", name, after=after)
            return response

        return audited

    return decorate
