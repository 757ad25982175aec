"""The example requests of docs/reference/read-api.md, run against a project with recorded tapes.

An example is a request and, on the lines below it up to an empty line, the status and the top-level keys of
the response: of the JSON object, or of each line of an NDJSON response. `{placeholders}` are recorded ids.
"""

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import User

from recorder.access import saved_views, tokens
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ledger import follower
from recorder.models import EventRecord, LedgerCall, LoopRecord, ParallelGroupRecord
from recorder.notes.definitions import Draft, define
from recorder.notes.targets import find
from recorder.notes.write import Author, give_score
from recorder.search import indexer
from recorder.waste import follower as waste
from tests.dashboard.lifecycle.sse_client import play, subscribed
from tests.dashboard.repeated_calls import repeating
from tests.support import build

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "read-api.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^GET /api/v1/(\S+)\n(\d{3}) ((?:\S.*\n?)*)", re.M)
EXAMPLES = [
    (path, int(status), set(keys.split()))
    for path, status, keys in EXAMPLE.findall(TEXT.replace("```", "\n"))
]
CURL = re.findall(r'^curl .*"http://[^/]+/api/v1/([^"]+)"$', TEXT, re.M)
FRAME = re.search(r"^    event: lifecycle\n    data: (\{.*\})$", TEXT, re.M)


@pytest.fixture
def recorded(feed, project):
    """Record groups, sub-agents, compactions, an approval, waste, a rejected line, a score and a view."""
    for scenario in ("03-parallel-judge", "05-sub-agents", "06-compaction-block-based"):
        feed(scenario=scenario, flush=True)
    feed(build.agent_start("s.a.1"), build.ours("ApprovalRequested", "s.a.1", kind="tool", command="rm"))
    ingest(Batch(project=project.pk, producer="p", first=0, lines=[b"{"]))
    define(project, Draft("quality", "number", 1, 5), "mira")
    session_id = ParallelGroupRecord.objects.select_related("session").first().session.session_id
    give_score(project.pk, Author("ci", "code", token=1), find(project.pk, session_id), "quality", 4)
    owner = User.objects.create_user("owner")
    saved_views.create(
        project, owner, "sessions", "Failures", "project", saved_views.Content("outcome=failed")
    )
    feed(*repeating("again.a.1"))
    indexer.run_all()
    follower.run_all()
    waste.run_all()


def placeholders():
    group = ParallelGroupRecord.objects.select_related("session").first()
    loop = LoopRecord.objects.filter(session=group.session).first()
    event = EventRecord.objects.filter(session=group.session).latest("pk")
    return {
        "session_id": quote(group.session.session_id, safe=""),
        "loop_id": quote(loop.loop_id, safe=""),
        "loop": loop.pk,
        "group": group.pk,
        "event": event.pk,
        "turn": LedgerCall.objects.filter(session=group.session.pk).first().turn,
    }


def keys_of(response):
    """Return the top-level keys of a response; those of NDJSON must be the same on each line."""
    if isinstance(response, dict):
        return set(response)
    if response["Content-Type"].startswith("application/x-ndjson"):
        lines = [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]
        assert all(line.keys() == lines[0].keys() for line in lines)
        return set(lines[0])
    assert response["Content-Type"].startswith("text/plain")
    return {"(text)"}


def test_each_example_has_the_documented_status_and_keys(get, recorded):
    """One test for all: to record what they show takes longer than they do."""
    ids = placeholders()
    for path, status, keys in EXAMPLES:
        url = urlsplit(path.format(**ids))
        response = get(url.path, expect=status, **parse_qs(url.query))

        assert keys_of(response) == keys, path
        if "items" in keys:
            assert response["items"], path  # an example without items would show nothing


@pytest.mark.parametrize("path", CURL)
def test_a_curl_example_is_a_valid_request(get, recorded, path):
    url = urlsplit(path)
    assert get(url.path, **parse_qs(url.query)).keys() == {"items", "next", "total"}


def test_every_endpoint_has_an_example(get):
    documented = get("openapi.json")["paths"]
    paths = [path.removeprefix("/api/v1/") for path, methods in documented.items() if "get" in methods]
    examples = [urlsplit(path).path for path, status, _ in EXAMPLES if status == 200]
    missing = [
        path
        for path in paths
        if not any(re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", path), example) for example in examples)
    ]
    assert missing == ["audit", "lifecycle"]  # for signed-in admins, in test_audit.py; a stream, tested below
    assert len(CURL) == 1


@pytest.mark.django_db(transaction=True)
async def test_the_lifecycle_example_has_the_keys_of_an_event(project):
    token = await database_sync_to_async(tokens.issue)(project, "reads", ["read"])
    async with subscribed(token) as subscription:
        await play(project, build.agent_start("s.a.1", metadata={"message_id": "m1"}))
        (event,) = await subscription.events(1)
    documented = json.loads(FRAME[1])
    assert event.keys() == documented.keys()
    assert event["type"] == documented["type"]
