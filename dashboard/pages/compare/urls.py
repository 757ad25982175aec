"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.compare import views
from dashboard.web import converters  # noqa: F401  registers <key:…>

urlpatterns = [
    path("sessions/compare", views.sessions, name="sessions-compare"),
    path("sessions/<key:pk>/compare", views.loops, name="loops-compare"),
]
