"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.files import views
from dashboard.web import converters  # noqa: F401  registers <key:…>

urlpatterns = [
    path("sessions/<key:pk>/files", views.index, name="session-files"),
]
