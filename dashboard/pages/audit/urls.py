"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.audit import views

urlpatterns = [
    path("settings/audit", views.index, name="audit"),
    path("settings/audit.csv", views.as_file, {"suffix": "csv"}, name="audit-csv"),
    path("settings/audit.ndjson", views.as_file, {"suffix": "ndjson"}, name="audit-ndjson"),
]
