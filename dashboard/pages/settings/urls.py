"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.settings import retention, views, whole_project

urlpatterns = [
    path("settings", views.settings, name="settings"),
    path("settings/title", views.rename, name="settings-rename"),
    path("settings/archive", whole_project.archive, name="settings-archive"),
    path("settings/restore", whole_project.restore, name="settings-restore"),
    path("settings/delete", whole_project.delete, name="settings-delete"),
    path("settings/retention", retention.change, name="settings-retention"),
    path("settings/scores", views.define_score, name="settings-scores"),
    path("settings/tokens", views.make_token, name="settings-token"),
    path(
        "settings/tokens/<slug:key>/rotate",
        views.rotate,
        name="settings-rotate",
    ),
    path(
        "settings/tokens/<slug:key>/revoke",
        views.revoke_token,
        name="settings-revoke",
    ),
]
