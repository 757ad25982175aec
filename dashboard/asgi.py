"""The ASGI application that Daphne serves: Django first, then the routes of routing.py."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
get_asgi_application()  # before the routes, which import models

from dashboard.routing import application  # noqa: E402

__all__ = ["application"]
