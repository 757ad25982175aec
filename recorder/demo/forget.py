"""Removing the demo: exactly what came from demo producers."""

from __future__ import annotations

from functools import partial

from django.db import transaction

from recorder import journal, notify, pins, store, tokens
from recorder.consolidation import keeping
from recorder.models import AccessToken, Project


def forget_demo(project: Project) -> int:
    """Remove a project's demo data, records and lines; return how many sessions went.

    Without its token a demo that is being played stops.
    """
    with transaction.atomic():
        AccessToken.objects.filter(project=project, scopes__endswith=tokens.DEMO).delete()
        keeping.forget_demo(project.pk)
        bell = store.forget_demo(project.pk)
        journal.forget_demo(project.pk)
        pins.forget_strays(project.pk)
        transaction.on_commit(partial(notify.ring, bell))
    return len(bell.sessions)
