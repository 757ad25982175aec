"""Sessions that lost most, and those with the dearest requests, are read from indexes of these alone."""

from datetime import date

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.shared.ledger_sums.queries import sums
from dashboard.shared.ledger_sums.queries.requests import sessions_with


@pytest.mark.sqlite
@pytest.mark.parametrize("cause", ["", "ttl_lapsed"])
def test_losses_are_read_from_the_index_without_their_rows(project, cause):
    scope = sums.Scope(project.pk, date(2026, 1, 1), date(2026, 1, 30))
    with CaptureQueriesContext(connection) as captured:
        sums.sessions_that_lost(scope, cause, 10)
        sums.losing_sessions(scope, cause)

    assert len(captured) == 2
    for query in captured.captured_queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plan = "\n".join(row[-1] for row in cursor.fetchall())
        assert "USING COVERING INDEX ledger_sums_losses (project_id=? AND day>? AND day<?)" in plan


@pytest.mark.sqlite
def test_dear_requests_are_found_in_an_index_without_the_rows_of_sums(project):
    scope = sums.Scope(project.pk, date(2026, 1, 1), date(2026, 1, 30))
    with CaptureQueriesContext(connection) as captured:
        list(sessions_with(scope, "100")[:500])

    (query,) = captured.captured_queries
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
        plan = "\n".join(row[-1] for row in cursor.fetchall())
    assert "USING COVERING INDEX ledger_sums_requests (project_id=? AND day>? AND day<?)" in plan
