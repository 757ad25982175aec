"""The filters by the config and agent of turns read through indexes: on SQLite and on PostgreSQL.

Among many sessions they may not read every turn; a test of few rows cannot time that, but ask for the plan.
"""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.pages.compactions.params import Filters as CompactionFilters
from dashboard.pages.compactions.queries import list as compactions
from dashboard.pages.evaluations.list_params import Filters as EvaluationFilters
from dashboard.pages.evaluations.queries import list as evaluations
from dashboard.query_conditions.conditions import session_condition
from dashboard.query_language import parse
from dashboard.query_language.keys import KEYS
from dashboard.shared.queries import durations
from dashboard.shared.queries.session_filter import Wanted, matching
from dashboard.shared.session_json.queries import price_sources
from recorder.models import ModelConfig, Session
from tests.dashboard.pages.session.conftest import feed, project
from tests.support import build

__all__ = ["feed", "project"]
NOW = datetime(2026, 2, 12, tzinfo=UTC)
SONNET = "claude-sonnet-4-5"
LARGE = ("recorder_turn", "recorder_looprecord", "recorder_compaction")


@pytest.fixture
def recorded(feed, project):
    """Ten sessions of one config and one with a hand-off. Without statistics SQLite assumes large tables."""
    loops = [event for number in range(10) for event in build.small_loop(f"o{number}.a.1")]
    feed(*loops, *build.handed_over(), build.parallel_start("s.b.1", "s.b.2"))
    return project.pk


def scans(query):
    """Return the large tables that a plan reads from end to end.

    PostgreSQL scans a small table even if it has an index; without that choice a scan shows that none serves.
    """
    sql, params = query.query.sql_with_params() if hasattr(query, "query") else query
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
            plan = [row[-1] for row in cursor.fetchall()]
            aliases = dict(re.findall(r'"(recorder_\w+)" (U\d+|V\d+)', sql))
            named = {alias: table for table, alias in aliases.items()}
            found = [line.split()[1] for line in plan if line.startswith("SCAN ")]
            return {named.get(name, name) for name in found} & set(LARGE)
        cursor.execute("SET enable_seqscan = off")
        try:
            cursor.execute(f"EXPLAIN {sql}", params)
            plan = "\n".join(row[0] for row in cursor.fetchall())
        finally:
            cursor.execute("RESET enable_seqscan")
        return set(re.findall(r"Seq Scan on (\w+)", plan)) & set(LARGE)


def test_a_scan_of_a_large_table_is_found(recorded):
    assert scans(("SELECT * FROM recorder_turn WHERE stop_reason = %s", ("stop",))) == {"recorder_turn"}
    assert scans(("SELECT * FROM recorder_turn WHERE id = %s", (1,))) == set()


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(model=(SONNET,)),
        Wanted(config=(SONNET,)),
        Wanted(agent=("expert",)),
        Wanted(agent=("expert",), model=(SONNET,)),
    ],
    ids=lambda wanted: " ".join(name for name in ("model", "config", "agent") if getattr(wanted, name)),
)
def test_the_filters_of_sessions_read_no_table_of_turns_whole(recorded, wanted):
    found = matching(recorded, wanted).order_by("-last_event_at", "-pk").values("pk")[:50]
    assert len(found) == 1
    assert scans(found) == set()


def test_the_filters_of_evaluations_and_compactions_read_no_table_of_turns_whole(recorded):
    key = ModelConfig.objects.values_list("key", flat=True)[0]
    filters = EvaluationFilters(q=f"config:{key} winner:{key} evaluation:judged")
    assert scans(evaluations.matching(recorded, filters, NOW).values("pk")) == set()
    filters = CompactionFilters(q=f"config:{key} agent:expert", session=1)
    found = scans(compactions.matching(recorded, filters, NOW).values("pk"))
    assert found <= {"recorder_compaction"}  # the few compactions of a project are read


@pytest.mark.parametrize("read", [price_sources.inferred_in_loops, price_sources.inferred_in_sessions])
def test_price_sources_read_only_the_turns_of_a_page(recorded, read, django_assert_num_queries):
    with django_assert_num_queries(1) as captured:
        read(recorded, [1, 2, 3])
    assert scans((captured[0]["sql"].replace("%", "%%"), ())) == set()


@pytest.mark.sqlite
def test_durations_read_no_table_of_loops_whole_where_no_loop_has_switched(feed, project):
    """The statistics of SQLite have no row for the index of switched loops while it is empty.

    They say ten loops a session and ten sessions; of nine the loops are left out.
    """
    for number in range(10):
        feed(*build.small_loop(f"o.a.{number}"))
    session = Session.objects.get()
    for number in range(9):
        session.pk, session.session_id = None, f"o{number}"
        session.save(force_insert=True)
    with connection.cursor() as cursor:
        for table in ("recorder_session", "recorder_looprecord"):
            cursor.execute(f"ANALYZE {table}")

    configs = list(ModelConfig.objects.values_list("pk", flat=True))
    with CaptureQueriesContext(connection) as captured:
        durations.of_configs(project.pk, configs, durations.Period(NOW - timedelta(days=7), NOW))

    switched = [
        each["sql"].replace("%", "%%")
        for each in captured
        if each["sql"].endswith(f"LIMIT {durations.SWITCHED}")
    ]
    assert len(switched) == 1
    assert scans((switched[0], ())) == set()


def test_no_key_of_a_query_reads_a_large_table_whole(recorded):
    found = {}
    for key in KEYS.values():
        for text in (key.example, f"-{key.example}"):
            condition = session_condition(recorded, parse(text), NOW)
            sessions = Session.objects.filter(condition, project=recorded).order_by("-last_event_at", "-pk")
            with suppress(EmptyResultSet):  # nothing of the project can match: no query is sent
                found[text] = scans(sessions.values("pk")[:50])
    assert len(found) > len(KEYS)
    assert {text: tables for text, tables in found.items() if tables} == {}
