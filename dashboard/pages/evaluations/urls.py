"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.evaluations import views
from dashboard.web import converters  # noqa: F401  registers <key:…>

urlpatterns = [
    path("evaluations", views.index, name="evaluations"),
    path("evaluations/<key:pk>", views.detail, name="evaluation"),
]
