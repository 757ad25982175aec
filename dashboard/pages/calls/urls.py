"""URLs of both pages, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.calls import views
from dashboard.web import converters  # noqa: F401  registers <key:…>

urlpatterns = [
    path("calls", views.calls, name="calls"),
    path("sessions/<key:pk>/turns", views.turns, name="session-turns"),
]
