"""Size of the journal, of the unique content of the lines that were sent, and the bytes of the file.

Unique content is each distinct message once, whatever its line and order of keys, and each distinct system
prompt, tool and delta. With `blocks` it is each distinct text, thought and tool call of the messages instead.
The allowance for each event covers everything else.
"""

import json
import subprocess

from django.db import connection

SHARE, AN_EVENT = 1.35, 300
JOURNAL = ("recorder_journalevent", "one_line")  # the table, and the index of its numbers


def allowed(lines, *, blocks=False):
    """Return the limit of the journal's size for these lines."""
    return SHARE * unique_bytes(lines, blocks=blocks) + AN_EVENT * len(lines)


def unique_bytes(lines, *, blocks=False):
    texts = {text for line in lines for text in _texts(json.loads(line), blocks=blocks)}
    return sum(len(text.encode()) for text in texts)


def _texts(event, *, blocks):
    payload = event.get("payload") or {}
    messages = [event.get("message"), *(event.get("messages") or []), *(event.get("tool_results") or [])]
    messages += payload.get("messages") or []
    results = [event.get("result"), event.get("partial_result")]
    for message in filter(None, [*messages, *results] if blocks else messages):
        yield from map(_text, message.get("content") or []) if blocks else [_text(message)]
    yield from map(_text, payload.get("tools") or [])
    yield from map(_text, filter(None, (payload.get("system_prompt"), event.get("delta"))))


def _text(content):
    return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def journal_bytes():
    """Return the bytes of the pages of the journal's table and its indexes."""
    if connection.vendor == "postgresql":
        return _ask("SELECT pg_total_relation_size('recorder_journalevent')")
    return _ask("SELECT SUM(pgsize) FROM dbstat WHERE name IN (%s, %s)", *JOURNAL)


def database_bytes():
    """Return the bytes of the whole database, with all its records and the free pages."""
    if connection.vendor == "postgresql":
        return _ask("SELECT pg_database_size(current_database())")
    return _ask("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")


def _ask(sql, *values):
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchone()[0]


def file_content(path):
    """Return the bytes of a file of an open SQLite database, read by another process.

    POSIX drops all locks that a process has on a file as soon as it closes any descriptor of it, so a test
    that read the file itself would take away the locks of its own connections.
    """
    return subprocess.run(["cat", str(path)], capture_output=True, check=True).stdout
