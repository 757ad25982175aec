"""Responses with an exported session, sent while it is read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

from dashboard.notes.export import notes_section
from dashboard.shared.session_file.document import html_file
from dashboard.web.streaming_response import stream
from recorder.models import Session
from recorder.projection.otlp_export import Encoding, otlp_request

MEDIA = {"json": "application/json", "protobuf": "application/x-protobuf"}


def otlp(request: HttpRequest, session: Session, encoding: Encoding) -> StreamingHttpResponse:
    """Respond with the spans of a session, an export request of OTLP. Raises Pruned."""
    return streamed(request, otlp_request(session, encoding), MEDIA[encoding])


def html(request: HttpRequest, session: Session) -> StreamingHttpResponse:
    """Respond with a session as a file to be saved, never as a page of this site. Raises Pruned."""
    answer = streamed(request, html_file(session, notes_section(session)), "text/html; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="session-{session.pk}.html"'
    answer["Content-Security-Policy"] = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
    return answer


def streamed(request: HttpRequest, parts: Iterator[bytes], media: str) -> StreamingHttpResponse:
    """Respond with the parts of a file; what raises at the first one raises here."""
    parts = chain([next(parts, b"")], parts)
    content = stream(part for part in parts if part) if isinstance(request, ASGIRequest) else parts
    return StreamingHttpResponse(content, content_type=media)
