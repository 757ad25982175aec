"""Damaged stores: whatever a cell holds, its row is named and the rest is imported, once."""

import shutil
import signal
import sqlite3
import threading
from contextlib import closing
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from recorder.models import Project, Session
from recorder.operations.integrity_check import findings
from tests.support.foreign_tapes import TAPES
from tests.support.project_digest import records

pytestmark = pytest.mark.django_db(transaction=True)

STORES = ("cagent/two-sessions.v13.db", "cagent/transfer-task.v19.db", "aidaemon/events.hand-made.db")
TABLES = ("sessions", "session_items", "events", "token_usage")
STRANGE = (7, 2**62, 1.5, None, "", "{oops", "[1, [2], {}]", "\x00\u202e x", b"\x00\xff")


def bring_in(*paths, project="default", wanted="auto", **options):
    """Import files; return whether that succeeded, and the output."""
    output = StringIO()
    try:
        call_command(
            "import_runs",
            *map(str, paths),
            project=project,
            wanted=wanted,
            stdout=output,
            stderr=output,
            **options,
        )
    except CommandError as error:
        return False, output.getvalue() + str(error)
    return True, output.getvalue()


def cells(path):
    """Return the columns of a store, each with a value that nobody expects there."""
    with closing(sqlite3.connect(TAPES / path)) as store:
        columns = [
            (table, column)
            for table in TABLES
            for (column,) in store.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        ]
    return [(*cell, STRANGE[number % len(STRANGE)]) for number, cell in enumerate(columns)]


def spoiled(path, table, column, value, copy):
    """Write a copy of a store whose last row of a table holds a value; False if the schema forbids it."""
    shutil.copyfile(TAPES / path, copy)
    last = f"(SELECT MAX(rowid) FROM {table})"
    with closing(sqlite3.connect(copy)) as store, store:
        try:
            store.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = {last}", (value,))
        except sqlite3.Error:
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("path", STORES)
def test_whatever_a_cell_holds_the_rest_is_imported_once(tmp_path, path):
    Project.objects.create(slug="whole")
    bring_in(TAPES / path, project="whole")
    whole = Session.objects.count()
    for number, cell in enumerate(cells(path)):
        project = Project.objects.create(slug=f"p{number}")
        copy = tmp_path / f"{number}.db"
        if not spoiled(path, *cell, copy):
            continue

        is_clean, output = bring_in(copy, project=project.slug)
        first_records = records(project.pk)
        bring_in(copy, project=project.slug)

        assert is_clean or f"{copy}" in output, cell
        assert Session.objects.filter(project=project).count() >= whole - 1, cell
        assert records(project.pk) == first_records, cell
    assert not [output for output in findings() if not output.startswith("producer")]


@pytest.mark.parametrize(
    ("path", "statement", "names"),
    [
        (
            "cagent/two-sessions.v13.db",
            "UPDATE sessions SET messages = '{oops' WHERE rowid = 2",
            ["session 9bd7326a-1f38-4000-adc9-514ac8ef07b7, messages: not JSON", "the rest is imported"],
        ),
        (
            "cagent/transfer-task.v19.db",
            "UPDATE session_items SET message_json = '{oops' WHERE id = 4",
            ["item 3: not JSON", "the rest is imported"],
        ),
        (
            "aidaemon/events.hand-made.db",
            "UPDATE events SET data = '{oops' WHERE id = 3",
            ["events row 3: its data is not a JSON object", "the rest is imported"],
        ),
        (
            "aidaemon/events.hand-made.db",
            "UPDATE events SET session_id = '' WHERE id = 3",
            ["events row 3: missing_field: session_id: the field is missing"],
        ),
    ],
)
def test_a_row_that_cannot_be_read_is_named_with_its_file(project, tmp_path, path, statement, names):
    copy = tmp_path / "store.db"
    shutil.copyfile(TAPES / path, copy)
    with closing(sqlite3.connect(copy)) as store, store:
        store.execute(statement)

    is_clean, output = bring_in(copy)

    assert not is_clean
    assert f"{copy}" in output
    for words in names:
        assert words in output
    assert Session.objects.exists()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (
            "ALTER TABLE sessions RENAME TO others",
            "of neither cagent, aidaemon nor OpenCode; its tables: ",
        ),
        ("ALTER TABLE sessions RENAME COLUMN created_at TO made", "not a store that cagent writes"),
        ("ALTER TABLE session_items RENAME COLUMN position TO place", "no such column: position"),
    ],
)
def test_a_store_of_another_schema_is_named(project, tmp_path, statement, says):
    copy = tmp_path / "store.db"
    shutil.copyfile(TAPES / "cagent/transfer-task.v19.db", copy)
    with closing(sqlite3.connect(copy)) as store, store:
        store.execute(statement)

    is_clean, output = bring_in(copy, TAPES / "cagent/one-session.v15.db")

    assert not is_clean
    assert f"{copy}: " in output
    assert says in output
    assert Session.objects.filter(title="General greeting or introduction").exists()


@pytest.mark.parametrize("path", STORES)
@pytest.mark.parametrize("share", [0.01, 0.05, 0.5, 0.95])
def test_a_store_that_was_cut_off_is_named_with_a_remedy(project, tmp_path, path, share):
    raw = (TAPES / path).read_bytes()
    copy = tmp_path / "store.db"
    copy.write_bytes(raw[: int(len(raw) * share)])

    is_clean, output = bring_in(copy, TAPES / "cagent/one-session.v15.db")

    assert not is_clean
    assert f"{copy}" in output
    assert (
        "recover it with" in output or "the rest is imported" in output
    )  # what is cut may be the end of a text
    assert Session.objects.filter(title="General greeting or introduction").exists()


def test_a_store_whose_list_of_tables_is_damaged_is_named(project, tmp_path):
    copy = tmp_path / "opencode.db"
    whole = (TAPES / "opencode/write/opencode.db").read_bytes()
    copy.write_bytes(whole.replace(b"CREATE TABLE `message`", b"CREATE \xff\xfeBLE `message`"))
    assert copy.read_bytes() != whole

    is_clean, output = bring_in(copy)

    assert not is_clean
    assert "the store is damaged or cut off" in output


def test_a_store_in_use_is_read_beside_its_program(project, tmp_path):
    copy = tmp_path / "store.db"
    shutil.copyfile(TAPES / "aidaemon/events.hand-made.db", copy)
    with closing(sqlite3.connect(copy)) as store:
        store.execute("BEGIN EXCLUSIVE")
        is_clean, _ = bring_in(copy)
        store.rollback()

    assert is_clean
    assert Session.objects.exists()


def test_a_file_in_two_formats_is_named_with_a_remedy(project, tmp_path):
    stream = tmp_path / "run.jsonl"
    shutil.copyfile(TAPES / "cagent/two-turns.reconstructed.events.jsonl", stream)
    assert bring_in(stream, wanted="cagent")[0]
    before = records(project.pk)

    is_clean, output = bring_in(stream, wanted="native")

    assert not is_clean
    assert f"{stream}: the producer " in output
    assert "sends cagent lines; native lines need a producer of their own" in output
    assert "import the file in the format in which it was imported before" in output
    assert set(before) <= set(records(project.pk))


@pytest.mark.parametrize("is_first", [True, False], ids=["at the first look", "later"])
def test_following_a_store_that_cannot_be_read_reports_it_at_the_end(
    project, tmp_path, monkeypatch, is_first
):
    copy = tmp_path / "store.db"
    shutil.copyfile(TAPES / "aidaemon/events.hand-made.db", copy)
    looks = iter([True])

    def spoil(stopped, timeout):
        if next(looks, None) is None:
            signal.raise_signal(signal.SIGTERM)
        elif not is_first:
            copy.write_bytes(b"no store")
        return wait(stopped, 0)

    if is_first:
        copy.write_bytes(b"no store")
    wait = threading.Event.wait
    monkeypatch.setattr(threading.Event, "wait", spoil)

    is_clean, output = bring_in(copy, follow=True)

    assert not is_clean
    assert f"{copy}: " in output
