"""Settings of every test: reproducible property tests, fast emptying of tables."""

import faulthandler
import gc
import signal
import sys
import threading
from functools import partialmethod
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.contrib.contenttypes.management import create_contenttypes
from django.core.cache import cache
from django.db import connection
from django.db.models.signals import post_migrate
from hypothesis import HealthCheck, settings

from dashboard.live import cached_value
from recorder.ingest import writer
from recorder.journal import immutability
from recorder.projection.as_of import record_versions
from tests import selection

# Neither `deadline` nor `too_slow`: both fail on a busy machine.
settings.register_profile(
    "house",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("house")

TESTS = Path(__file__).parent
# Seconds of one test with its fixtures: many times what any takes. `slow` ones kill servers or install.
LIMIT_S, SLOW_LIMIT_S = 170, 600
# Files that take more than about two seconds, measured with `--durations=0`. `make test-quick` leaves them
# out, and so it does property tests and tests of a server in a subprocess.
LONG_FILES = {
    "dashboard/api/test_api.py",
    "dashboard/api/test_as_of.py",
    "dashboard/api/test_money.py",
    "dashboard/api/test_records.py",
    "dashboard/lifecycle/test_runtimes.py",
    "dashboard/lifecycle/test_sse_endpoint.py",
    "dashboard/live/test_push_equals_reload.py",
    "dashboard/pages/account/sign_in_methods/test_oidc.py",
    "dashboard/pages/account/sign_in_methods/test_second_factor.py",
    "dashboard/pages/attention/test_live.py",
    "dashboard/pages/compactions/test_detail.py",
    "dashboard/pages/compactions/test_list.py",
    "dashboard/pages/costs/queries/test_costs_query.py",
    "dashboard/pages/costs/test_chart.py",
    "dashboard/pages/evaluations/test_live.py",
    "dashboard/pages/evaluations/test_page.py",
    "dashboard/pages/insights/test_page.py",
    "dashboard/pages/session/conversation/test_approvals.py",
    "dashboard/pages/session/conversation/test_fold_calls.py",
    "dashboard/pages/session/conversation/test_fold_messages.py",
    "dashboard/pages/session/events/test_events.py",
    "dashboard/pages/session/replay/test_as_of.py",
    "dashboard/pages/session/test_access.py",
    "dashboard/pages/session/test_long_sessions.py",
    "dashboard/pages/session/test_pruned_bodies.py",
    "dashboard/pages/session/test_size.py",
    "dashboard/pages/session/timeline/test_timeline.py",
    "dashboard/pages/session/tree/test_group_costs.py",
    "dashboard/pages/session/tree/test_layout.py",
    "dashboard/pages/sessions/test_params.py",
    "dashboard/pages/test_reachability.py",
    "dashboard/security/matrix/test_channels.py",
    "dashboard/security/matrix/test_routes.py",
    "dashboard/security/test_lost_access.py",
    "loopscope_client/test_client.py",
    "recorder/core/formats/test_native.py",
    "recorder/imports/test_aidaemon.py",
    "recorder/imports/test_bad_stores.py",
    "recorder/imports/test_import_files.py",
    "recorder/ingest/test_bad_input.py",
    "recorder/ingest/test_pipeline.py",
    "recorder/ingest/test_rate_limit.py",
    "recorder/ingest/test_writer.py",
    "recorder/insights/test_consolidate.py",
    "recorder/insights/test_extract_facts.py",
    "recorder/insights/test_interrupted_consolidation.py",
    "recorder/journal/test_read.py",
    "recorder/journal/test_storage.py",
    "recorder/masking/test_all_ways.py",
    "recorder/operations/expiry/test_dry_run.py",
    "recorder/operations/test_after_retention.py",
    "recorder/operations/expiry/test_exports_of_deleted.py",
    "recorder/operations/test_retention.py",
    "recorder/operations/test_scheduler.py",
    "recorder/pricing/test_backfill.py",
    "recorder/pricing/test_rollups.py",
    "recorder/projection/test_as_of.py",
    "recorder/projection/test_as_of_fields.py",
    "recorder/projection/test_rebuild.py",
    "recorder/projection/test_store.py",
    "recorder/pubsub/test_invalidation.py",
    "test_base_install.py",
    "test_first_start.py",
}


def pytest_make_parametrize_id(val):
    """Name bytes by their length: packed ones hold the time, and two workers must collect the same names."""
    return f"{len(val)}-bytes" if isinstance(val, bytes) else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Fail a test that waits for ever, with the stacks of all threads; the run goes on."""
    limit_s = SLOW_LIMIT_S if item.get_closest_marker("slow") else LIMIT_S

    def fail(*_):
        faulthandler.dump_traceback(file=sys.__stderr__)
        pytest.fail(f"took longer than {limit_s} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def _nothing_cached():
    """Clear what is cached: after a flush other sessions have the same keys."""
    record_versions.forget()
    cached_value.forget()
    cache.clear()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown():
    """End the writer of this process while its test still has the database, which the thread polls."""
    writer.close()


@pytest.fixture(autouse=True)
def _no_writer_left():
    """Fail a test that leaves a writing thread: it breaks without a database, and later tests with it."""
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "writer"]


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
    else:
        type(connection.ops).sql_flush = partialmethod(_flush, type(connection.ops).sql_flush)


def _deletes(ops, style, tables, **_):
    """Release the audit log, which the end of the flush makes append-only again, and empty the tables."""
    released = immutability.release_audit("postgresql")
    return ["; ".join([*released, *(f"DELETE FROM {ops.quote_name(table)}" for table in tables)])]


def _flush(ops, own, style, tables, **options):
    return [*immutability.release_audit("sqlite"), *own(ops, style, tables, **options)]


def pytest_collection_finish():
    """Exclude the collected tests from garbage collection: they live until the end."""
    gc.collect()
    gc.freeze()


def is_long(item):
    """Whether `make test-quick` leaves a test out."""
    path = item.path.relative_to(TESTS).as_posix()
    is_property = getattr(item.obj, "is_hypothesis_test", False)
    return path in LONG_FILES or is_property or hasattr(item.module, "Server")


def pytest_collection_modifyitems(config, items):
    """Sort slow files first; deselect tests of SQLite alone when another database is tested.

    Workers take files in this order, so that no long file is left for the end.
    """
    for item in items:
        if is_long(item):
            item.add_marker("long")
    selection.mark_database(items)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    if "sqlite" in django_settings.DATABASES["default"]["ENGINE"]:
        return
    others = [item for item in items if item.get_closest_marker("sqlite")]
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)
    selection.try_fewer_examples(items)
