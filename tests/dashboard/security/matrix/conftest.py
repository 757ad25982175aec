"""The world of the matrix: two projects and everybody who asks, made once for each module and rolled back.

Tests are marked `django_db`: what one changes is rolled back to this world."""

from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from recorder.access import signins
from tests.dashboard.security.matrix.people import Person, people
from tests.dashboard.security.matrix.records import Records


@dataclass(frozen=True)
class World:
    """Two projects with their records, and everybody."""

    first: Records
    second: Records
    people: list[Person]

    def person(self, name):
        return next(each for each in self.people if each.name == name)


@pytest.fixture(scope="module")
def world(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), transaction.atomic(), pytest.MonkeyPatch.context() as patch:
        # Any request notes when a sign-in was last seen, once in five minutes; the table may take longer.
        patch.setattr(signins, "SEEN_EVERY", timedelta(days=1))
        first, second = Records("first", "kestrel7"), Records("second", "obsidian9")
        root = User.objects.create_superuser("root")
        yield World(first, second, people(first.project, second.project, "owner-kestrel7", root))
        transaction.set_rollback(True)
