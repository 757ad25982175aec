"""What stands inside a recorded event: a text, piece by piece, and an image, decoded and looked at by us."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.pages.session.conversation.messages import result_text
from dashboard.pages.session.events import lookup
from dashboard.pages.session.events.bodies import (
    Object,
    at_path,
    decode,
    dom_id,
    obj,
    pretty,
    string,
    text_of,
)
from dashboard.pages.session.views import PLAIN, found_line, may_be_pruned
from dashboard.rendering import images
from dashboard.security.access import HtmxRequest, member
from dashboard.web import links
from dashboard.web.query_params import whole_number
from recorder.core.content.text import clean
from recorder.core.records import Json
from recorder.models import Project

PIECE = 200_000  # characters of a text that a page is given at once
# An image is data: it may load nothing, run nothing, and be framed by nobody.
INERT = "default-src 'none'; sandbox; frame-ancestors 'none'"


@require_safe
@member
@may_be_pruned
def event_text(request: HtmxRequest, project: Project, pk: int) -> HttpResponse:
    """Give the whole of one text inside an event: plain, or to the page that asked for it, in pieces."""
    raw = found_line(lookup.event, project, pk)
    body, at = decode(raw), request.GET.get("at", "")
    value = _at(body, at)
    if not at:
        text = pretty(value) if body else clean(raw.decode(errors="replace"))
    else:
        text = result_text(value) if at.startswith("result") else text_of(value)
    if not request.htmx:
        return HttpResponse(text, content_type=PLAIN)
    start = min(whole_number(request.GET.get("from", "")) or 0, len(text))
    rest = len(text) - start - PIECE
    is_whole = start == 0 and rest <= 0
    is_said = string(obj(body.get("message")).get("role")) == "assistant" and "plain" not in request.GET
    context = {
        "id": dom_id(pk, at),
        "text": text[start : start + PIECE],
        "is_prose": at.endswith(".text") and is_said and is_whole,
        "is_whole": is_whole,
        "is_first": start == 0,
        "more": f"{links.event_text(project.slug, pk, at)}&from={start + PIECE}" if rest > 0 else "",
        "rest": rest,
    }
    return render(request, "session/text/full.html", context)


@require_safe
@member
@may_be_pruned
def event_image(request: HttpRequest, project: Project, pk: int) -> HttpResponse:
    """Give an image that an event holds, as what its own bytes say it is."""
    part = _at(decode(found_line(lookup.event, project, pk)), request.GET.get("at", ""))
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


def _at(body: Object, path: str) -> Json:
    try:
        return at_path(body, path) if path else dict(body)
    except LookupError as error:
        raise Http404 from error
