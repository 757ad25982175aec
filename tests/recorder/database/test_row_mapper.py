"""Records as rows: what points at a record needs its primary key."""

from datetime import UTC, datetime

import pytest

from recorder.core.records import Anomaly, Session
from recorder.database import row_mapper


@pytest.mark.django_db
def test_what_was_never_saved_cannot_be_pointed_at():
    at = datetime(2026, 2, 1, tzinfo=UTC)
    times = dict.fromkeys(("created_at", "last_active_at", "last_event_at", "last_received_at"), at)
    session = Session(session_id="s", **times)
    anomaly = Anomaly(session=session, loop=None, kind="late", text="", at=at)

    with pytest.raises(ValueError, match="Session is pointed at"):
        row_mapper.table(Anomaly).put([anomaly], 1)
