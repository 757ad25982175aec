"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.share import views
from dashboard.web import converters  # noqa: F401  registers <key:…> and <shared_kind:…>

urlpatterns = [
    path("share", views.index, name="share"),
    path("share/<shared_kind:kind>", views.record, name="share-record"),
    path("share/links/<key:pk>/revoke", views.revoke, name="share-revoke"),
]
