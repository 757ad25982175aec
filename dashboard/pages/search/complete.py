"""Completions of a query at the cursor, for the query box."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from dashboard.query_conditions.queries import recorded_values
from dashboard.query_language import completion
from dashboard.query_language.completion import Item, Place
from dashboard.query_language.parser import LENGTH_MAX
from dashboard.security.access import member
from dashboard.web.query_params import whole_number
from recorder.models import Project


@require_safe
@member
def complete(request: HttpRequest, project: Project) -> JsonResponse:
    """Return the keys or values that complete `q` at the cursor `at`, with the text that they replace."""
    text = request.GET.get("q", "")[:LENGTH_MAX].replace("\0", " ")
    at = whole_number(request.GET.get("at", ""))
    found = completion.place(text, len(text) if at is None else at)
    items = [] if found is None else _items(project.pk, found)
    return JsonResponse(
        {
            "from": found.start if found else 0,
            "to": found.end if found else 0,
            "items": [{"text": item.text, "shown": item.shown, "note": item.note} for item in items],
        }
    )


def _items(project: int, found: Place) -> list[Item]:
    if found.key:
        example = completion.example(found)
        return example or completion.values(found, recorded_values.counts(project, found.key, found.typed))
    is_named = found.typed.lower().startswith(("metadata", "score"))
    return completion.keys(found.typed, recorded_values.names(project) if is_named else ())
