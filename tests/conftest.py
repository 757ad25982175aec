"""Settings of every test: reproducible property tests, fast emptying of tables."""

import gc

import pytest
from django.conf import settings as django_settings
from django.contrib.contenttypes.management import create_contenttypes
from django.db import connection
from django.db.models.signals import post_migrate
from hypothesis import HealthCheck, settings

from recorder.projection.as_of import record_versions

settings.register_profile(
    "house", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("house")


def pytest_make_parametrize_id(val):
    """Name bytes by their length: packed ones hold the time, and two workers must collect the same names."""
    return f"{len(val)}-bytes" if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def _no_cached_versions():
    """Clear the cache of record versions: after a flush other sessions have the same keys."""
    record_versions.forget()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings):
    """Empty the tables in milliseconds after a test that commits.

    Django would write a permission for each action on each model again, which nothing of ours reads, and
    have PostgreSQL make every file of every table again, of which most were empty.
    """
    post_migrate.disconnect(create_contenttypes)
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    if connection.vendor == "postgresql":
        type(connection.ops).sql_flush = _deletes


def _deletes(ops, style, tables, **_):
    return ["; ".join(f"DELETE FROM {ops.quote_name(table)}" for table in tables)]


def pytest_collection_finish():
    """Exclude the collected tests from garbage collection: they live until the end."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config, items):
    """Sort slow files first; deselect tests of SQLite alone when another database is tested.

    Workers take files in this order, so that no long file is left for the end.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    if "sqlite" in django_settings.DATABASES["default"]["ENGINE"]:
        return
    others = [item for item in items if item.get_closest_marker("sqlite")]
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)
