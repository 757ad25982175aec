"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.evaluations import views
from dashboard.web import converters  # noqa: F401  registers <key:…>

urlpatterns = [
    path("evaluations", views.index, name="evaluations"),
    path("evaluations.csv", views.download, {"suffix": "csv"}, name="evaluations-csv"),
    path("evaluations.json", views.download, {"suffix": "json"}, name="evaluations-json"),
    path("evaluations/<key:pk>", views.detail, name="evaluation"),
]
