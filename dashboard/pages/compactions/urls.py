"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.compactions import views
from dashboard.web import converters  # noqa: F401  registers <key:…>

urlpatterns = [
    path("sessions/<key:pk>/compactions/<key:compaction>", views.detail, name="compaction"),
    path("events/<key:event>/compaction", views.of_event, name="compaction-of"),
    path("compactions", views.index, name="compactions"),
    path("compactions.csv", views.download, {"suffix": "csv"}, name="compactions-csv"),
    path("compactions.json", views.download, {"suffix": "json"}, name="compactions-json"),
]
