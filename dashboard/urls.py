"""All URLs of Django: the registered pages, the read API, notifications and metrics. See also routing.py."""

from django.urls import include, path

from dashboard.api.app import api
from dashboard.notifications import views as notifications
from dashboard.pages.account.urls import urlpatterns as account
from dashboard.pages.registry import PAGES
from dashboard.pages.share.public_urls import urlpatterns as share_links
from dashboard.server.metrics import metrics
from dashboard.shell import views as shell
from dashboard.web import errors

handler400, handler403 = errors.bad_request, errors.forbidden
handler404, handler500 = errors.not_found, errors.server_error

urlpatterns = [
    path("", shell.home, name="home"),
    *account,
    path("worker.js", notifications.worker, name="worker"),
    path("notifications/now", notifications.now, name="notifications-now"),
    path("notifications/mute", notifications.mute, name="notifications-mute"),
    path("p/<slug:slug>/behind", shell.behind, name="behind"),
    path("p/<slug:slug>/", include([pattern for page in PAGES for pattern in page.urls])),
    path("s/", include(share_links)),
    path("api/v1/", api.urls),
    path("metrics", metrics, name="metrics"),
]
