"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.insights import views
from dashboard.web import converters  # noqa: F401  registers <key:…>

urlpatterns = [
    path("insights", views.index, name="insights"),
    path("insights.csv", views.download, {"suffix": "csv"}, name="insights-csv"),
    path("insights.json", views.download, {"suffix": "json"}, name="insights-json"),
    path("insights/consolidate", views.consolidate, name="insights-consolidate"),
    path("insights/<key:pk>/dismiss", views.dismiss, name="insight-dismiss"),
    path("insights/<key:pk>/restore", views.restore, name="insight-restore"),
]
