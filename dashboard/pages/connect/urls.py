"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.connect import views

urlpatterns = [
    path("connect", views.connect, name="connect"),
    path("welcome", views.welcome, name="welcome"),
    path("connect/token", views.make_token, name="connect-token"),
]
