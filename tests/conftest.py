"""Settings of every test: reproducible property tests, fast emptying of tables."""

import faulthandler
import gc
import signal
import sys
import threading
from contextlib import contextmanager
from functools import cache

import pytest
from django.conf import settings as django_settings
from django.contrib.contenttypes.management import create_contenttypes
from django.core.cache import cache as django_cache
from django.db import connection
from django.db.models.signals import post_migrate
from django.test import TransactionTestCase
from hypothesis import HealthCheck, settings

from dashboard.live import cached_value
from dashboard.web.static_files import StaticFiles
from recorder.ingest.commit import writer
from recorder.ingest.limits import rate_limit
from recorder.journal import immutability
from recorder.projection.as_of import record_versions
from recorder.search import tables as search_tables
from recorder.search.documents import DOCUMENTS
from tests import selection, times
from tests.support import server

# Neither `deadline` nor `too_slow`: both fail on a busy machine.
settings.register_profile(
    "house",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("house")

# Seconds of a test, of its fixtures, and of their end: many times what any takes. `slow` ones kill servers
# or install.
LIMIT_S, SLOW_LIMIT_S = 170, 600
BEGAN_S = pytest.StashKey[float]()
FIRST_START = pytest.StashKey()


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="leave out the files that take long")


def pytest_ignore_collect(collection_path, config):
    return True if config.getoption("quick") and collection_path in times.long_files() else None


def pytest_sessionstart(session):
    """Begin the first start of a server while the workers collect, as it takes as long."""
    config = session.config
    if config.getoption("numprocesses", None) and not config.getoption("quick"):
        config.stash[FIRST_START] = server.prepare_start()


def pytest_sessionfinish(session):
    if first_start := session.config.stash.get(FIRST_START, None):
        first_start.wait()  # which has long ended, except after a run of a moment


def pytest_make_parametrize_id(val):
    """Name bytes by their length: packed ones hold the time, and two workers must collect the same names."""
    return f"{len(val)}-bytes" if isinstance(val, bytes) else None


@contextmanager
def _limited(item):
    """Fail a phase of a test that waits for ever, with the stacks of all threads; the run goes on.

    Only within a phase: a failure that is raised between two of them would end the run.
    """
    limit_s = SLOW_LIMIT_S if item.get_closest_marker("slow") else LIMIT_S

    def fail(*_):
        faulthandler.dump_traceback(file=sys.__stderr__)
        pytest.fail(f"took longer than {limit_s} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    item.stash[BEGAN_S] = times.cpu_s()
    with _limited(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item):
    with _limited(item):
        return (yield)


@pytest.fixture(autouse=True)
def _nothing_cached():
    """Clear what is cached and counted: after a flush other sessions and tokens have the same keys."""
    record_versions.forget()
    cached_value.forget()
    rate_limit.rates.forget()
    django_cache.clear()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item):
    """Give the test's entry in a JUnit file its CPU seconds, with those of its fixtures.

    First end the writer of this process while its test still has the database, which the thread polls.
    """
    try:
        with _limited(item):
            writer.close()
            return (yield)
    finally:
        item.user_properties.append((times.PROPERTY, f"{times.cpu_s() - item.stash[BEGAN_S]:.3f}"))


@pytest.fixture(autouse=True)
def _no_writer_left():
    """Fail a test that leaves a writing thread: it breaks without a database, and later tests with it."""
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "writer"]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings):
    """Empty the tables in milliseconds after a test that commits.

    Django's command asks for the names of the tables each time, would write a permission for each action on
    each model again, which nothing of ours reads, and has PostgreSQL make every file of every table again, of
    which most were empty.
    """
    post_migrate.disconnect(create_contenttypes)
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    TransactionTestCase._fixture_teardown = _empty_tables


@pytest.fixture(scope="session", autouse=True)
def _static_files_found_once():
    """Give each test client the static files that the first one found: to find them takes eight requests."""
    find, found = StaticFiles.add_files_from_finders, {}

    def add(middleware):
        if not found:
            find(middleware)
            found.update(middleware.files)
        middleware.files.update(found)

    StaticFiles.add_files_from_finders = add


def _empty_tables(_):
    """Empty the tables, and drop those of the index: each connection would read what all tests before made.

    The audit log is released from its rule if it has entries; at the end it is append-only again.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT EXISTS (SELECT 1 FROM {immutability.AUDIT})")
        released = immutability.release_audit(connection.vendor) if cursor.fetchone()[0] else ()
        script = "; ".join([*released, *_deletes()])
        if connection.vendor == "postgresql":
            cursor.execute(script)
        else:
            connection.connection.executescript(f"BEGIN IMMEDIATE; {script}; COMMIT")
    for name in search_tables.names():
        search_tables.drop(int(name.rpartition("_")[2]))
    immutability.keep()


@cache
def _deletes():
    """Return the statements that empty all tables.

    The documents of the index are numbered from 1 again: a search reads more queries where the numbers cross
    into another bucket, and which test does that would depend on all before it.
    """
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    deletes = [f"DELETE FROM {connection.ops.quote_name(table)}" for table in tables]
    if connection.vendor == "postgresql":
        deletes.append(f"SELECT setval(pg_get_serial_sequence('{DOCUMENTS}', 'id'), 1, false)")
    return deletes


def pytest_collection_finish():
    """Exclude the collected tests from garbage collection: they live until the end."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config, items):
    """Sort the longest files first; deselect tests of SQLite alone when another database is tested.

    Workers take files in this order, so that no long file is left for the end.
    """
    selection.mark_database(items)
    items.sort(key=lambda item: (-times.cost_s(item.path), item.path))
    if "sqlite" in django_settings.DATABASES["default"]["ENGINE"]:
        return
    others = [item for item in items if item.get_closest_marker("sqlite")]
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)
    selection.try_fewer_examples(items)
