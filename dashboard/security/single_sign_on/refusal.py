"""The page of a sign-in that was refused, which names the reason, and its entry in the audit log."""

from __future__ import annotations

from typing import Literal

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.security.actor import unknown
from dashboard.security.single_sign_on.provider import Problem
from recorder.operations import audit

Reason = Problem | Literal["state", "cancelled", "code", "no_role", "inactive", "too_many", "passkey"]
STATUS: dict[Reason, int] = {"provider": 503, "state": 400, "code": 400, "too_many": 429}  # else 403


def refuse(request: HttpRequest, target: str, reason: Reason, name: str = "") -> HttpResponse:
    """Return the page, and note who was refused by which way of signing in."""
    audit.record(None, unknown(request, name), "signin.refused", target, after={"reason": reason})
    shown = {"reason": reason, "provider": settings.LOOPSCOPE_OIDC_NAME}
    response = render(request, "account/refused.html", shown, status=STATUS.get(reason, 403))
    response["Cache-Control"] = "no-store"
    if reason in ("provider", "too_many"):
        response["Retry-After"] = "60"
    return response
