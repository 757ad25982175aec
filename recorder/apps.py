"""The recorder as a Django app."""

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate, pre_delete

from recorder.journal import immutability


class RecorderConfig(AppConfig):
    name = "recorder"

    def ready(self) -> None:
        """Have the journal guarded in every database, and tokens end with the membership of their maker."""
        from recorder.access import tokens  # noqa: PLC0415  models can be imported from here on

        post_migrate.connect(immutability.keep, sender=self)
        pre_delete.connect(tokens.end_with_membership, sender="recorder.Membership")
        pre_delete.connect(tokens.end_with_user, sender=settings.AUTH_USER_MODEL)
