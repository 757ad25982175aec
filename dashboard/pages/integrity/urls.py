"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.integrity import views

urlpatterns = [
    path("integrity", views.index, name="integrity"),
]
