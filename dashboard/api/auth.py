"""Who reads, once the API has let them in."""

from typing import cast

from django.http import HttpRequest

from dashboard.security.access import Reader
from recorder.models import Project


def project_of(request: HttpRequest) -> Project:
    """Return the project that the request reads."""
    return cast("Reader", request.auth).project  # type: ignore[attr-defined]  # set by django-ninja
