"""Responses of pages whose address or form is a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.http import HttpResponse

BACKEND = "django.contrib.auth.backends.ModelBackend"


def secret_response(response: HttpResponse) -> HttpResponse:
    """Return the response, never stored, and its address never passed on."""
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "no-referrer"
    return response
