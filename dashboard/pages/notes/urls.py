"""URLs of the pages, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.notes import views
from dashboard.web import converters  # noqa: F401  registers <key:…>

urlpatterns = [
    path("sessions/note", views.on_several, {"kind": "note"}, name="note-on-several"),
    path("sessions/score", views.on_several, {"kind": "score"}, name="score-on-several"),
    path("sessions/bookmark", views.on_several, {"kind": "bookmark"}, name="bookmark-on-several"),
    path("sessions/<key:pk>/notes/new", views.new, name="note-new"),
    path("notes/<key:pk>", views.note, name="note"),
]
