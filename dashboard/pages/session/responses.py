"""Responses of views that read journal lines: 404 without the line, 410 where its body was pruned."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpResponse

from recorder.journal.read import Pruned
from recorder.models import JournalEvent, Project

PLAIN = "text/plain; charset=utf-8"


def gone_if_pruned(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Respond 410 Gone when a view needs a pruned body."""

    @wraps(view)
    def respond(*args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(*args, **kwargs)
        except Pruned as error:
            return HttpResponse(f"{error}\n", status=410, content_type=PLAIN)

    return respond


def line_or_404(look_up: Callable[[int, int], bytes], project: Project, pk: int) -> bytes:
    """Return the line of a key of the project. Raises Http404 without one."""
    try:
        return look_up(project.pk, pk)
    except JournalEvent.DoesNotExist as error:
        raise Http404 from error
