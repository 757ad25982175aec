"""Everything that the database holds, and a secret in parts that may stand nowhere in it."""

import itertools
from pathlib import Path

from django.db import connection

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.read import texts
from recorder.models import JournalEvent
from tests.support.build import agent_start, line, message_start, turn_start
from tests.support.journal_bytes import file_content

BEGIN = [agent_start("s.a.1"), turn_start("s.a.1"), message_start()]
KEY_PARTS = [3, 9, 15]


def parts_of(secret, before="key ", after=" then"):
    places = [0, *KEY_PARTS, len(secret)]
    return [before, *(secret[a:b] for a, b in itertools.pairwise(places)), after]


def parts(secret):
    return [secret[at : at + 6] for at in range(4, len(secret) - 5)]


def send(project, events, first=0, producer="p"):
    return ingest(Batch(project.pk, producer, first, [line(event) for event in events]))


def everything():
    """Return all that the database holds, as text."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            found += [_text(value) for row in cursor.fetchall() for value in row]
    return "\n".join([*found, *(text.decode(errors="replace") for text in stored())])


def _text(value):
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode(errors="replace")
    return value if isinstance(value, str) else str(value)


def stored():
    keys = list(JournalEvent.objects.exclude(kind="flush").order_by("pk").values_list("pk", flat=True))
    found = texts(keys)
    return [found[key] for key in keys]


def in_files(parts):
    """Return the parts that are in the files of the database; PostgreSQL's are not read."""
    if connection.vendor != "sqlite":
        return []
    file = Path(connection.settings_dict["NAME"])
    contents = [file_content(part) for part in file.parent.glob(f"{file.name}*")]
    return [each for each in parts if any(each.encode() in content for content in contents)]
