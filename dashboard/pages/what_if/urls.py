"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.what_if import views

urlpatterns = [
    path("what-if", views.index, name="what_if"),
    path("what-if.csv", views.download, {"suffix": "csv"}, name="what-if-csv"),
    path("what-if.json", views.download, {"suffix": "json"}, name="what-if-json"),
]
