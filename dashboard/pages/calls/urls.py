"""URLs of both pages, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.calls import views
from dashboard.web import converters  # noqa: F401  registers <key:…>

urlpatterns = [
    path("calls", views.calls, name="calls"),
    path("calls.csv", views.download_calls, {"suffix": "csv"}, name="calls-csv"),
    path("calls.json", views.download_calls, {"suffix": "json"}, name="calls-json"),
    path("sessions/<key:pk>/turns", views.turns, name="session-turns"),
    path("sessions/<key:pk>/turns.csv", views.download_turns, {"suffix": "csv"}, name="session-turns-csv"),
    path("sessions/<key:pk>/turns.json", views.download_turns, {"suffix": "json"}, name="session-turns-json"),
]
