"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.leaderboard import views

urlpatterns = [
    path("leaderboard", views.index, name="leaderboard"),
]
