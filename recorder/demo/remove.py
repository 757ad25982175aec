"""Removes the demo: everything that demo producers sent, and nothing else."""

from __future__ import annotations

from functools import partial

from django.db import transaction

from recorder.access import tokens
from recorder.insights import store as insights_store
from recorder.journal.removal import lines
from recorder.models import AccessToken, Project, Session
from recorder.operations import retention_pins
from recorder.projection import store
from recorder.pubsub import invalidation
from recorder.search import documents


def forget_demo(project: Project) -> int:
    """Delete a project's demo records and lines; return the number of deleted sessions.

    A running play stops, because its token is deleted.
    """
    with transaction.atomic():
        AccessToken.objects.filter(project=project, scopes__endswith=tokens.DEMO).delete()
        insights_store.forget_demo(project.pk)
        demo = Session.objects.filter(project=project, is_demo=True)
        documents.remove(project.pk, set(demo.values_list("pk", flat=True)))
        touched = store.forget_demo(project.pk)
        lines.forget_demo(project.pk)
        retention_pins.delete_dangling(project.pk)
        transaction.on_commit(partial(invalidation.publish, touched))
    return len(touched.sessions)
