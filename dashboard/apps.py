"""The dashboard as a Django app."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in


class DashboardConfig(AppConfig):
    name = "dashboard"

    def ready(self) -> None:
        """Note each sign-in, by whatever way."""
        from dashboard.security import signins  # noqa: PLC0415  models can be imported from here on

        user_logged_in.connect(signins.note)
