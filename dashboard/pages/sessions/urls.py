"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.sessions import deletion, views

urlpatterns = [
    path("sessions", views.index, name="sessions"),
    path("sessions/dearest", views.dearest, name="sessions-dearest"),
    path("sessions/delete", deletion.delete, name="sessions-delete"),
    path("sessions/export", views.export, name="sessions-export"),
    path("sessions.csv", views.as_csv, name="sessions-csv"),
    path("sessions.json", views.as_json, name="sessions-json"),
]
