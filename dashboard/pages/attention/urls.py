"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.attention import views

urlpatterns = [
    path("attention", views.index, name="attention"),
    path("attention/seen", views.mark_read, name="attention-seen"),
]
