"""Serves the content of a recorded event: a text in parts, and an image after decoding and checking it."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.pages.session.events.bodies import (
    Object,
    at_path,
    decode,
    dom_id,
    obj,
    pretty,
    result_text,
    string,
    text_of,
)
from dashboard.pages.session.events.queries import lookup
from dashboard.pages.session.responses import PLAIN, gone_if_pruned, line_or_404
from dashboard.rendering import event_paths, images, shared_page
from dashboard.security.access import HtmxRequest, member
from dashboard.web import links
from dashboard.web.query_params import whole_number
from recorder.core.content.text import clean
from recorder.core.records import Json
from recorder.models import Project

PART = 200_000  # characters of a text in one response to a page
# An image must not load or run anything, and no page may frame it.
INERT = "default-src 'none'; sandbox; frame-ancestors 'none'"


@require_safe
@member
@gone_if_pruned
def event_text(request: HtmxRequest, project: Project, pk: int) -> HttpResponse:
    """Return one whole text of an event: as plain text, or to an htmx request as HTML in parts."""
    raw = shared_page.masked_line(line_or_404(lookup.event, project, pk))
    body, at = decode(raw), request.GET.get("at", "")
    value = _at(body, at, "event-text")
    if not at:
        text = pretty(value) if body else clean(raw.decode(errors="replace"))
    else:
        text = result_text(value) if at.startswith("result") else text_of(value)
    text = shared_page.masked_text(text)
    if not request.htmx:
        return HttpResponse(text, content_type=PLAIN)
    start = min(whole_number(request.GET.get("from", "")) or 0, len(text))
    rest = len(text) - start - PART
    is_whole = start == 0 and rest <= 0
    is_assistant = string(obj(body.get("message")).get("role")) == "assistant" and "plain" not in request.GET
    context = {
        "id": dom_id(pk, at),
        "text": text[start : start + PART],
        "is_prose": at.endswith(".text") and is_assistant and is_whole,
        "is_whole": is_whole,
        "is_first": start == 0,
        "more": f"{links.event_text(project.slug, pk, at)}&from={start + PART}" if rest > 0 else "",
        "rest": rest,
    }
    return render(request, "session/text/full.html", context)


@require_safe
@member
@gone_if_pruned
def event_image(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Return an image inside an event, with the media type detected from its bytes."""
    part = _at(decode(line_or_404(lookup.event, project, pk)), request.GET.get("at", ""), "event-image")
    raw = images.decode_base64(string(obj(part).get("data")))
    image = images.identify(raw) if raw else None
    if raw is None or image is None:
        raise Http404
    headers = {
        "Content-Security-Policy": INERT,
        "Content-Disposition": f"inline; filename=image-{pk}.{image.mime.partition('/')[2]}",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "private, max-age=3600",
    }
    return HttpResponse(raw, content_type=image.mime, headers=headers)


def _at(body: Object, path: str, route: str) -> Json:
    """Return what is at a path; through a share link only what the conversation links. Raises Http404."""
    if shared_page.is_shared() and not event_paths.is_linked(route, body, path):
        raise Http404
    try:
        return at_path(body, path) if path else dict(body)
    except LookupError as error:
        raise Http404 from error
