"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.search_text import views

urlpatterns = [
    path("search", views.index, name="search_text"),
    path("search.csv", views.download, {"suffix": "csv"}, name="search_text-csv"),
    path("search.json", views.download, {"suffix": "json"}, name="search_text-json"),
    path("search/counts", views.counts, name="search_text-counts"),
]
