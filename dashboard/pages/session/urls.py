"""The URLs of the session page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.session import as_of, views
from dashboard.pages.session.context import views as context
from dashboard.pages.session.events import attachments
from dashboard.pages.session.navigation import views as navigation
from dashboard.web import converters  # noqa: F401  registers <key:…>

urlpatterns = [
    path("sessions/<key:pk>", views.session, name="session"),
    path("sessions/<key:pk>/pin", views.pin, name="session-pin"),
    path("sessions/<key:pk>/step", as_of.step, name="session-step"),
    path("sessions/<key:pk>/jump", navigation.jump, name="session-jump"),
    path("sessions/<key:pk>/search", navigation.search, name="session-search"),
    path("sessions/<key:pk>/context.csv", context.download, name="session-context-csv"),
    path("sessions/<key:pk>/loops/<key:loop>", views.loop, name="loop"),
    path("sessions/<key:pk>/loops/<key:loop>/deltas", views.loop_deltas, name="loop-deltas"),
    path(
        "sessions/<key:pk>/loops/<key:loop>/turns/<key:turn>/calls",
        views.turn_calls,
        name="turn-calls",
    ),
    path(
        "sessions/<key:pk>/loops/<key:loop>/turns/<key:turn>/passage",
        views.turn_passage,
        name="turn-passage",
    ),
    path("sessions/<key:pk>/loops/<key:loop>/record", views.loop_record, name="loop-record"),
    path("events/<key:pk>", views.event, name="event"),
    path("events/<key:pk>/raw", views.event_raw, name="event-raw"),
    path("events/<key:pk>/image", attachments.event_image, name="event-image"),
    path("events/<key:pk>/text", attachments.event_text, name="event-text"),
]
