"""The command line: version and help, and the refusal of a database of a newer version."""

import inspect
import os
import signal
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.db import DatabaseError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from dashboard import command_line
from recorder import __version__
from recorder.models import Project
from recorder.operations import startup_checks
from tests.recorder.pubsub.test_invalidation import environment

ROOT = Path(__file__).parents[2]
FUTURE = "9999_of_a_later_version"
OURS = sorted(name for name, app in get_commands().items() if app in {"dashboard", "recorder"})
# Root may write anywhere, unless it starts without the capabilities to.
AS_OTHERS = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
BOUND = AS_OTHERS if os.geteuid() == 0 and which("setpriv") else ()


@pytest.fixture
def newer(transactional_db):
    """The database as a newer version leaves it."""
    applied = MigrationRecorder(connection)
    applied.record_applied("recorder", FUTURE)
    yield
    applied.record_unapplied("recorder", FUTURE)


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["loopscope", *words])
    command_line.main()


def test_a_database_of_this_version_is_used(db):
    assert startup_checks.newer_schema() is None


def test_unknown_migrations_of_other_apps_are_ignored(transactional_db):
    applied = MigrationRecorder(connection)
    applied.record_applied("auth", FUTURE)
    assert startup_checks.newer_schema() is None
    applied.record_unapplied("auth", FUTURE)


def test_a_migrated_database_has_no_pending_migrations(db):
    executor = MigrationExecutor(connection)

    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
    assert not startup_checks.has_pending_migrations()


@pytest.mark.parametrize("label", ["auth", "recorder"])
def test_a_migration_that_was_not_applied_is_pending(transactional_db, label):
    applied = MigrationRecorder(connection)
    (_, last), *_ = MigrationLoader(connection).graph.leaf_nodes(label)
    applied.record_unapplied(label, last)
    try:
        assert startup_checks.has_pending_migrations()
    finally:
        applied.record_applied(label, last)


@pytest.mark.parametrize("name", [*(name for name in OURS if name != "tail"), "migrate", "shell"])
def test_every_command_refuses_the_database_of_a_newer_version(newer, monkeypatch, name):
    with pytest.raises(SystemExit) as end:
        run(monkeypatch, name)

    assert FUTURE in end.value.code
    assert f"Loopscope {__version__}" in end.value.code
    assert "\n" not in end.value.code


@pytest.mark.parametrize("words", [["help", "up"], ["--help"], ["--version"]])
def test_help_and_version_do_not_use_the_database(newer, monkeypatch, capsys, words):
    run(monkeypatch, *words)

    printed = capsys.readouterr()
    assert printed.out
    assert FUTURE not in printed.err + printed.out


@pytest.mark.parametrize(("words", "status"), [(["up", "--help"], 0), (["tail", "-"], 1)])
def test_a_command_that_does_not_use_the_database_runs(newer, monkeypatch, capsys, words, status):
    with pytest.raises(SystemExit) as end:
        run(monkeypatch, *words)

    assert end.value.code == status
    printed = capsys.readouterr()
    assert FUTURE not in printed.err + printed.out


def test_a_start_checks_the_schema_again_before_it_migrates(newer):
    with pytest.raises(CommandError, match=FUTURE):
        call_command("up", "--port", "0", "--accept-loss")


@pytest.mark.parametrize("name", OURS)
def test_a_command_starts_without_the_checks_of_the_whole_project(name):
    assert load_command_class(get_commands()[name], name).requires_system_checks == []


def test_a_command_loads_no_page(transactional_db):
    listed = subprocess.run(
        [sys.executable, "-X", "importtime", "manage.py", "project", "list"],
        cwd=ROOT,
        env=os.environ | environment(),
        capture_output=True,
        text=True,
        check=True,
    )

    assert "recorder.models" in listed.stderr
    assert "dashboard.pages" not in listed.stderr


@pytest.mark.parametrize("command", [["up", "--port", "0", "--accept-loss"], ["project", "list"]])
def test_a_process_ends_with_one_line_and_status_1(newer, command):
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=os.environ | environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("This is Loopscope")
    assert done.stderr.count("\n") == 1


def test_a_check_of_a_missing_database_does_not_create_it(settings, monkeypatch, tmp_path):
    monkeypatch.setitem(connection.settings_dict, "NAME", str(tmp_path / "none.sqlite3"))
    monkeypatch.setattr(connection, "vendor", "sqlite")

    assert startup_checks.newer_schema() is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["python manage.py", "loopscope"])
def test_pages_name_the_command_line_of_this_installation(client, settings, db, name):
    settings.COMMAND = name

    assert f"<code>{name} signin_link</code>" in client.get("/signin").content.decode()


def test_no_template_has_a_fixed_command_line():
    templates = list((ROOT / "templates").rglob("*.html"))

    assert len(templates) > 50
    assert [path.name for path in templates if "manage.py" in path.read_text()] == []


def run_in(folder, *words, before=(), **more):
    """Run a command as a process that has no database of its own yet; `before` are words that start it."""
    names = ("LOOPSCOPE_DATA", "DATABASE_URL", "DJANGO_SETTINGS_MODULE")
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    return subprocess.run(
        [*before, sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=inherited | {"LOOPSCOPE_DATA": str(folder)} | more,
        capture_output=True,
        text=True,
        check=False,
    )


def assert_one_line(done, *words):
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_a_token_before_the_first_start_is_one_line_and_creates_no_database(tmp_path):
    done = run_in(tmp_path / "missing", "token", "create")

    assert_one_line(done, "There is no database yet", "python manage.py up")
    assert [path.name for path in (tmp_path / "missing").iterdir()] == ["secret_key"]


def test_a_database_without_tables_is_one_line(tmp_path):
    (tmp_path / "loopscope.sqlite3").touch()

    assert_one_line(run_in(tmp_path, "token", "create"), "not set up yet", "python manage.py up")


@pytest.mark.parametrize("command", [["up", "--port", "0"], ["token", "create"], ["migrate"]])
def test_a_data_folder_that_cannot_be_written_is_one_line(command):
    assert_one_line(run_in("/proc", *command), "LOOPSCOPE_DATA cannot be used", "/proc")


def test_a_database_in_a_missing_folder_is_one_line(tmp_path):
    url = f"sqlite:///{tmp_path}/no/such/folder/x.sqlite3"

    for command in (["up", "--port", "0"], ["migrate"]):
        assert_one_line(
            run_in(tmp_path, *command, DATABASE_URL=url), "cannot be used: unable to open database"
        )


@pytest.mark.skipif(os.geteuid() == 0 and not BOUND, reason="permissions do not bind root")
@pytest.mark.parametrize("command", [["up", "--port", "0"], ["token", "create"], ["project", "create", "x"]])
def test_a_data_folder_that_has_become_read_only_is_one_line(read_only, command):
    assert_one_line(run_in(read_only, *command, before=BOUND), "cannot be written")


@pytest.fixture(scope="module")
def read_only(tmp_path_factory):
    """A data folder of this version in which nothing can be written any more."""
    folder = tmp_path_factory.mktemp("read-only")
    assert run_in(folder, "migrate").returncode == 0
    paths = (*folder.iterdir(), folder)
    for path in paths:
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield folder
    for path in reversed(paths):
        path.chmod(0o700)


def test_a_read_only_database_has_one_line_and_a_bug_has_none(db):
    with pytest.raises(DatabaseError) as found, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM there_is_no_such_table")
    assert "not set up yet" in startup_checks.unusable(found.value)

    readonly = OperationalError("attempt to write a readonly database")
    assert "cannot be written" in startup_checks.unusable(readonly)
    assert startup_checks.unusable(PermissionError(13, "denied", "/elsewhere/file")) is None
    assert startup_checks.unusable(ValueError("a bug")) is None


def list_projects_into(output, unbuffered):
    """Run `project list`, which writes into an open file."""
    return subprocess.run(
        [sys.executable, "manage.py", "project", "list"],
        cwd=ROOT,
        env=os.environ | environment() | {"PYTHONUNBUFFERED": unbuffered},
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_command_ends_silently_when_the_reader_of_its_output_has_gone(transactional_db, unbuffered):
    Project.objects.create(slug="acme")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as output:
        done = list_projects_into(output, unbuffered)

    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_command_that_cannot_write_its_output_says_so_in_one_line(transactional_db, unbuffered):
    Project.objects.create(slug="acme")
    with Path("/dev/full").open("wb") as output:
        done = list_projects_into(output, unbuffered)

    assert (done.returncode, done.stderr) == (1, "Cannot write: No space left on device\n")


OF_A_PROJECT = [
    *(["consolidate"], ["demo"], ["index"], ["mask", "--history"], ["prune"], ["rebuild"], ["reprice"]),
    *(["import_runs", "none.jsonl"], ["export_session", "s"], ["search", "x"], ["score", "list"]),
    *(["token", "list"], ["session", "delete", "s"], ["session", "resume"], ["member", "list"]),
]


@pytest.mark.parametrize("name", ["nowhere", ""])
@pytest.mark.parametrize("words", OF_A_PROJECT, ids=" ".join)
def test_every_command_words_an_unknown_project_alike(transactional_db, words, name):
    with pytest.raises(CommandError) as refused:
        call_command(*words, "--project", name)

    assert str(refused.value) == (
        f"There is no project {name!r}; `{settings.COMMAND} project list` shows those there are."
    )


def test_every_option_project_is_tried():
    """Each command of ours with the option is among those above."""
    texts = {name: inspect.getsource(sys.modules[type(load(name)).__module__]) for name in OURS}
    assert {name for name, text in texts.items() if '"--project"' in text} == {
        words[0] for words in OF_A_PROJECT
    }


def load(name):
    return load_command_class(get_commands()[name], name)


def test_a_wrong_argument_is_answered_with_the_usage_and_status_2(transactional_db, monkeypatch, capsys):
    with pytest.raises(SystemExit) as end:
        run(monkeypatch, "project", "nonsense")

    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("usage: ")


def test_an_unreachable_postgresql_is_one_line(tmp_path):
    done = run_in(tmp_path, "search", "x", DATABASE_URL="postgres://nobody@127.0.0.1:1/none")

    assert_one_line(done, "The database none cannot be used")
