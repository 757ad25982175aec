"""The URLs of a server with an OpenID Connect provider."""

from dashboard.pages.account.sign_in_methods.urls import OIDC
from dashboard.urls import handler400, handler403, handler404, handler500
from dashboard.urls import urlpatterns as all_others

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

urlpatterns = [*OIDC, *all_others]
