"""Released migrations stay as they are: databases exist that have applied them."""

import json

from tests.upgrade.databases import HASHES
from tests.upgrade.make import migration_hashes

RELEASED = json.loads(HASHES.read_text())


def test_no_released_migration_is_edited_or_removed():
    assert {name: migration_hashes().get(name) for name in RELEASED} == RELEASED, (
        "Add a migration instead. Only before a release: python -m tests.upgrade.make"
    )


def test_new_migrations_come_after_the_released_ones():
    new = migration_hashes().keys() - RELEASED.keys()

    assert "0001_initial" in RELEASED
    assert all(name > max(RELEASED) for name in new), new
