"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.welcome import views

urlpatterns = [
    path("welcome", views.welcome, name="welcome"),
    path("welcome/token", views.make_token, name="welcome-token"),
]
