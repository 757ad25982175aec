"""Sessions that are recorded and indexed, and the search over all its pages."""

import pytest

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.search import indexer
from tests.support import build

FOREVER = 40  # pages


def message(loop, body):
    return {"type": "MessageEnd", "loop_id": loop, "message": body}


@pytest.fixture
def record(project):
    """Record a session of one loop and turn with some messages, and index it."""

    def record(session, *bodies, into=project, more=(), at=0, **start):
        loop = f"{session}.a.1"
        events = [
            build.agent_start(loop, at=at, **start),
            build.turn_start(loop, at=at),
            *(message(loop, body) for body in bodies),
            *more,
        ]
        ingest(Batch(into.pk, None, None, [build.line(event) for event in events], "native"))
        indexer.run_all()

    return record


@pytest.fixture
def sessions(get):
    """Return the ids of the sessions found, over all pages."""

    def sessions(q, **params):
        found, cursor = [], None
        for _ in range(FOREVER):
            page = get("search", q=q, **params, **({"cursor": cursor} if cursor else {}))
            found += [item["session_id"] for item in page["items"]]
            cursor = page["next"]
            if cursor is None:
                return found
        raise AssertionError("the pages do not end")

    return sessions
