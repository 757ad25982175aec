"""A secret of every definite rule, sent by every way, is in no table, file, index, log, export or page.

`test_endpoints` has the receipts of each way; `streams/test_split_secrets` cuts streamed ones at any place.
"""

import logging
import re
from io import StringIO
from pathlib import Path

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from hypothesis import Phase, find, settings

from recorder.journal.read import texts
from recorder.masking.catalogue import DEFINITE
from recorder.masking.matcher import RuleSettings
from recorder.masking.project_rules import save
from recorder.models import EventRecord, JournalEvent, LoopRecord, QuarantinedLine, Session
from recorder.search import indexer, tables
from tests.recorder.masking import ways
from tests.recorder.masking.secrets import WRITTEN, contexts
from tests.recorder.masking.streams.own_parts import own_part
from tests.selection import SHARE
from tests.support.journal_bytes import file_content

pytestmark = pytest.mark.django_db(transaction=True)

KINDS_MIN = 40 if connection.vendor == "sqlite" else 13
CHARS_MIN = 9  # different characters of a secret, so that it stands nowhere by chance
EXPORTED = 7  # one session in so many is exported
EACH = settings(phases=[Phase.generate], max_examples=300, derandomize=True, database=None)
SHAPES = ("phi-session", "events", "otlp", "html")
UNICODE = re.compile(rb"\\+u00([0-9a-fA-F]{2})")


@pytest.fixture(scope="module")
def planted():
    """Return a text with a secret, and the secret, by rule; the key without an end takes what follows it.

    One rule in three on PostgreSQL: rules mask before the database, which differs in where it stores texts.
    """
    last = "private-key-part"
    tried = DEFINITE if connection.vendor == "sqlite" else DEFINITE[::SHARE]
    found = {rule.name: _pair(rule.name) for rule in tried}
    return found | {last: found.pop(last) if last in found else _pair(last)}


def _pair(name):
    around, examples = WRITTEN.get(name, ("{}", None))
    if examples:
        return around.format(examples[-1]), examples[-1]
    return find(contexts(name), lambda pair: len(set(pair[1])) >= CHARS_MIN, settings=EACH)


@pytest.fixture
def own_parts(planted):
    """Return what of each secret may stand nowhere, by rule."""
    return {name: own_part(name, secret).encode() for name, (_, secret) in planted.items()}


def leaked(own_parts, content):
    """Return the rules whose secret is in some bytes, plain or with escapes of JSON."""
    plain = UNICODE.sub(lambda found: bytes((int(found[1], 16),)), content).replace(b"\\", b"")
    return [name for name, part in own_parts.items() if part in content or part.replace(b"\\", b"") in plain]


def database():
    """Return all cells of all tables, those of the index among them, and all lines as they are restored."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")
            names = [name for (name,) in cursor.fetchall()]
        else:
            names = connection.introspection.table_names(cursor)
        cells = []
        for name in names:
            cursor.execute(f'SELECT * FROM "{name}"')
            cells += [cell for row in cursor for cell in row if cell is not None]
    lines = texts(JournalEvent.objects.filter(size__gt=0).values_list("pk", flat=True))
    made = (bytes(c) if isinstance(c, bytes | memoryview) else str(c).encode() for c in cells)
    return b"\0".join([*made, *lines.values()])


def files():
    """Return the bytes of the files of SQLite, the write-ahead log among them."""
    if connection.vendor != "sqlite":
        return b""
    path = Path(connection.settings_dict["NAME"])
    return b"".join(file_content(each) for each in path.parent.glob(f"{path.name}*"))


def exports(*, every=1):
    """Return what the command writes of each session, or of one in so many, in each shape that it has."""
    out = StringIO()
    for session_id in list(Session.objects.order_by("pk").values_list("session_id", flat=True))[::every]:
        for shape in SHAPES:
            try:
                call_command("export_session", session_id, "--as", shape, stdout=out)
            except CommandError:  # as spans, what came as spans only
                assert shape == "otlp"
    return out.getvalue().encode(errors="surrogatepass")


def pages(client):
    """Return the pages, lists and raw lines of what is recorded; each must be there."""
    loops = LoopRecord.objects.filter(started_at__isnull=False).order_by("pk").values_list("session", "pk")
    paths = ["sessions", "sessions.csv", "sessions.json", "search?q=note", "search.csv?q=note"]
    paths += ["attention", "insights", "integrity"]
    for session, loop in list(loops)[::7]:
        paths += [f"sessions/{session}/loops/{loop}?tab={tab}" for tab in ("conversation", "events", "json")]
    events = EventRecord.objects.order_by("pk").values_list("pk", flat=True)
    paths += [f"events/{event}/raw" for event in list(events)[::23]]
    content = []
    for path in paths:
        answer = client.get(f"/p/default/{path}")
        assert answer.status_code == 200, path
        content.append(answer.getvalue())
    return b"\0".join(content)


def test_the_secrets_are_found_where_nothing_is_masked(project, token, planted, own_parts):
    """Else the test below proves nothing."""
    save(project.pk, RuleSettings(off=frozenset(rule.name for rule in DEFINITE)))
    ways.by_http(token, {name: text for name, (text, _) in planted.items()})
    assert leaked(own_parts, database()) == list(own_parts)
    assert leaked(own_parts, exports()) == list(own_parts)


async def test_a_secret_of_any_rule_is_nowhere(project, token, planted, own_parts, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    texts_of = {name: f"{text} " for name, (text, _) in planted.items()}
    assert len(texts_of) >= KINDS_MIN
    await ways.by_websocket(token, texts_of)
    client = await database_sync_to_async(_record)(project, token, texts_of, tmp_path)
    await database_sync_to_async(_check)(project, own_parts, client)
    assert leaked(own_parts, caplog.text.encode()) == []


def _record(project, token, texts_of, folder):
    """Send by every other way; return a browser of a superuser."""
    ways.by_http(token, texts_of)
    ways.by_otlp(project, texts_of)
    ways.by_transcripts(project, texts_of)
    ways.by_imports(folder, texts_of)
    call_command("consolidate", stdout=StringIO(), stderr=StringIO())
    indexer.run_all()
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def _check(project, own_parts, client):
    sources = set(Session.objects.values_list("source", flat=True))
    assert {"phi-core", "cagent", "aidaemon", "otlp", "claude-code", "codex", "gemini-cli"} <= sources
    assert QuarantinedLine.objects.exists()
    stored = database()
    for name in own_parts:  # else nothing was sent
        assert b"[masked:%s:" % name.encode() in stored, name
    with connection.cursor() as cursor:
        assert tables.table(project.pk) in connection.introspection.table_names(cursor)
    # What is in no cell and no restored line can be in no export: a part of them shows each way.
    for content in (stored, files(), exports(every=EXPORTED), pages(client)):
        assert leaked(own_parts, content) == []
