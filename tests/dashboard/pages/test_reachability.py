"""Every field of every line that other runtimes wrote can be reached: from a list of events to the raw line.

Nothing is looked up by what we know of the database: sessions are found in the list of sessions, events in
their lists page by page, orphans on the integrity page, and lines by the links on these pages.
"""

import json
import re
import sqlite3
from contextlib import closing
from html import unescape
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Anomaly, Membership, Project, QuarantinedLine
from recorder.operations.integrity_check import findings
from tests.support.foreign_tapes import TAPES, tape

pytestmark = pytest.mark.django_db(transaction=True)

STREAMS = sorted(path.relative_to(TAPES).as_posix() for path in TAPES.glob("cagent/*.jsonl"))
FRAMES = "grida/lifecycle.hand-made.sse"
STORES = sorted(path.relative_to(TAPES).as_posix() for path in TAPES.glob("*/*.db"))
# Sums that aidaemon makes of token_usage, and the history of a schema: neither is a line of anything.
NOT_LINES = {"token_usage_daily", "migrations", "sqlite_sequence"}
RENAMED = {"agentName": "agent_name"}  # of the items that older stores of cagent held as one text


@pytest.fixture
def project():
    return Project.objects.create(slug="default")


@pytest.fixture
def reader(client, project):
    user = User.objects.create_user("ada", password=None)
    Membership.objects.create(project=project, user=user, role="viewer")
    client.force_login(user)
    return client


def bring_in(path):
    call_command("import_runs", str(TAPES / path), stdout=StringIO(), stderr=StringIO())


def see(reader, url):
    answer = reader.get(url, follow=True)
    assert answer.status_code == 200, url
    return unescape(answer.content.decode())


def reached(reader):
    """Return the lines behind all links to raw lines that somebody finds who goes from page to page."""
    links = raw_links(see(reader, "/p/default/integrity"))
    pages, seen = sessions(see(reader, "/p/default/sessions")), set()
    while pages - seen:
        page = (pages - seen).pop()
        seen.add(page)
        shown = see(reader, page)
        pages |= sessions(shown)
        for loop in set(re.findall(rf'href="({page}/loops/\d+)', shown)):
            links |= listed(reader, f"{loop}?tab=events") | listed(reader, f"{loop}?tab=events&scope=session")
    assert seen
    return {reader.get(link).content for link in links}


def sessions(page):
    return set(re.findall(r'href="(/p/default/sessions/\d+)', page))


def raw_links(page):
    return set(re.findall(r'href="(/p/default/events/\d+/raw)"', page))


def listed(reader, url):
    """Return the links of a list of events, of its earlier pages and of the deltas folded into it."""
    page = see(reader, url)
    links = raw_links(page)
    for deltas in set(re.findall(r'href="(/p/default/[^"]*/deltas[^"]*)"', page)):
        links |= raw_links(see(reader, deltas))
    earlier = re.search(r'href="([^"#]+)#loop">Earlier events', page)
    return links | listed(reader, earlier[1]) if earlier else links


def fields(value, name=""):
    """Return the leaves of a JSON value, each with its name."""
    if isinstance(value, dict):
        return {leaf for key, each in value.items() for leaf in fields(each, RENAMED.get(key, key))}
    if isinstance(value, list):
        return {leaf for each in value for leaf in fields(each, name)}
    if isinstance(value, str) and value[:1] in "{[" and isinstance(inner := parsed(value), dict | list):
        return fields(inner, name)  # text that is JSON may come back as that
    return {(name, json.dumps(value))}


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def rows(path):
    with closing(sqlite3.connect(TAPES / path)) as store:
        store.row_factory = sqlite3.Row
        for (table,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if table not in NOT_LINES:
                yield from (dict(row) for row in store.execute(f"SELECT * FROM {table}"))


@pytest.mark.parametrize("path", STREAMS)
@pytest.mark.parametrize("source", ["import", "stream"])
def test_every_line_of_a_stream_is_reached(reader, project, path, source):
    if source == "import":
        bring_in(path)
    else:
        ingest(Batch(project.pk, "p", 0, tape(path), "cagent"))

    assert set(tape(path)) <= reached(reader)
    assert nothing_is_odd()


def test_every_frame_of_a_channel_is_reached(reader, project):
    bring_in(FRAMES)
    frames = [line for line in tape(FRAMES) if line.startswith(b"data:")]  # the others only frame them

    assert len(frames) > 5
    assert set(frames) <= reached(reader)
    assert list(Anomaly.objects.values_list("kind", flat=True)) == ["unknown_type"] * 2  # as the README says
    Anomaly.objects.all().delete()
    assert nothing_is_odd()


@pytest.mark.parametrize("path", STORES)
def test_every_field_of_every_row_of_a_store_is_reached(reader, project, path):
    bring_in(path)
    shown = {leaf for raw in reached(reader) for leaf in fields(parsed(raw))}
    wrote = {leaf for row in rows(path) for leaf in fields(row)}

    assert len(wrote) > 30
    assert {(name, value) for name, value in wrote - shown if value != "null"} == set()
    assert nothing_is_odd()


def nothing_is_odd():
    """The README of the data explains no other anomaly, so there is none."""
    return not Anomaly.objects.exists() and not QuarantinedLine.objects.exists() and not list(findings())
