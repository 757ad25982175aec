"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.views import views
from dashboard.web import converters  # noqa: F401  registers <key:…>

urlpatterns = [
    path("views", views.index, name="views"),
    path("views/new", views.save_as, name="view-new"),
    path("views/<key:pk>/content", views.save, name="view-content"),
    path("views/<key:pk>/name", views.rename, name="view-rename"),
    path("views/<key:pk>/move", views.move, name="view-move"),
    path("views/<key:pk>/default", views.make_default, name="view-default"),
    path("views/<key:pk>/delete", views.delete, name="view-delete"),
]
