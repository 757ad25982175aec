"""The sessions that lost most are read from an index that has the losses alone."""

from datetime import date

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.shared.ledger_sums import queries as sums


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
