"""The recorder as a Django app."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate

from recorder.journal import immutability


class RecorderConfig(AppConfig):
    name = "recorder"

    def ready(self) -> None:
        """Have the journal guarded in every database that this app's tables are made in."""
        post_migrate.connect(immutability.keep, sender=self)
