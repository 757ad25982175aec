"""URLs of share links, under /s/."""

from django.urls import path

from dashboard.pages.share import public
from dashboard.web import converters  # noqa: F401  registers <secret:…>

urlpatterns = [
    path("<secret:secret>", public.start, name="shared"),
    path("<secret:secret>/theme", public.theme, name="shared-theme"),
    path("<secret:secret>/<path:rest>", public.below, name="shared-page"),
    path("<path:rest>", public.nothing),
    path("", public.nothing),
]
