"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.context import views

urlpatterns = [
    path("context", views.index, name="context"),
    path("context.csv", views.download, {"suffix": "csv"}, name="context-csv"),
    path("context.json", views.download, {"suffix": "json"}, name="context-json"),
]
