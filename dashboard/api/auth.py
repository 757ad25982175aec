"""The project of an authenticated API request."""

from typing import cast

from django.http import HttpRequest

from dashboard.security.access import Reader
from recorder.models import Project


def project_of(request: HttpRequest) -> Project:
    """Return the project of an authenticated request: the token's, or the one the user selected."""
    return cast("Reader", request.auth).project  # type: ignore[attr-defined]  # set by django-ninja
