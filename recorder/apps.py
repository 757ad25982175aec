"""The recorder as a Django app."""

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate, pre_delete

from recorder.journal import immutability


class RecorderConfig(AppConfig):
    name = "recorder"

    def ready(self) -> None:
        """Have the journal guarded in every database, and connect what ends with something else."""
        from recorder.access import share_links, tokens  # noqa: PLC0415  models can be imported from here on
        from recorder.insights import store as insights  # noqa: PLC0415
        from recorder.notes import write as notes  # noqa: PLC0415
        from recorder.operations import deletion  # noqa: PLC0415
        from recorder.operations.masking import history  # noqa: PLC0415
        from recorder.search import documents  # noqa: PLC0415

        def forget(deleted: deletion.Deleted) -> None:
            insights.forget_session(deleted)
            documents.remove(deleted.project, [deleted.session])
            notes.delete_of_session(deleted.project, deleted.session_id)
            share_links.forget_session(deleted.project, deleted.session, deleted.groups)

        deletion.subscribe(forget)
        history.subscribe(insights.mask)
        post_migrate.connect(immutability.keep, sender=self)
        pre_delete.connect(tokens.end_with_membership, sender="recorder.Membership")
        pre_delete.connect(tokens.end_with_user, sender=settings.AUTH_USER_MODEL)
