"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.leaderboard import views

urlpatterns = [
    path("leaderboard", views.index, name="leaderboard"),
    path("leaderboard.csv", views.download, {"suffix": "csv"}, name="leaderboard-csv"),
    path("leaderboard.json", views.download, {"suffix": "json"}, name="leaderboard-json"),
]
