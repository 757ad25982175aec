"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.demo import views

urlpatterns = [
    path("demo", views.play, name="demo-play"),
    path("demo/remove", views.remove, name="demo-remove"),
]
