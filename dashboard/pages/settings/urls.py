"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.settings import views

urlpatterns = [
    path("settings", views.settings, name="settings"),
    path("settings/title", views.rename, name="settings-rename"),
    path("settings/retention", views.retention, name="settings-retention"),
    path("settings/tokens", views.make_token, name="settings-token"),
    path(
        "settings/tokens/<slug:key>/revoke",
        views.revoke_token,
        name="settings-revoke",
    ),
]
