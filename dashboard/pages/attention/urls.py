"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.attention import views

urlpatterns = [
    path("attention", views.index, name="attention"),
    path("attention.csv", views.download, {"suffix": "csv"}, name="attention-csv"),
    path("attention.json", views.download, {"suffix": "json"}, name="attention-json"),
    path("attention/seen", views.mark_read, name="attention-seen"),
]
